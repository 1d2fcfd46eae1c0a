// Three shapes of a face on top of each other, then two lights for each vertex.
@group(0) @binding(0) var<uniform> view: mat4x4f;
@group(0) @binding(1) var<uniform> weights: vec4f;
@group(0) @binding(2) var<uniform> lights: array<vec4f, 2>;
struct Out { @builtin(position) position: vec4f, @location(0) color: vec3f, @location(1) uv: vec2f }

@vertex
fn place(@location(0) position: vec3f, @location(1) normal: vec3f, @location(2) uv: vec2f,
         @location(3) d1: vec3f, @location(4) d2: vec3f, @location(5) d3: vec3f,
         @location(6) n1: vec3f, @location(7) n2: vec3f, @location(8) n3: vec3f) -> Out {
    let p = position + d1 * weights.x + d2 * weights.y + d3 * weights.z;
    let n = normalize(normal + n1 * weights.x + n2 * weights.y + n3 * weights.z);
    let a = lights[0].xyz - p;
    let b = lights[1].xyz - p;
    let la = max(dot(n, normalize(a)), 0.0) * lights[0].w;
    let lb = max(dot(n, normalize(b)), 0.0) * lights[1].w / (1.0 + dot(b, b));
    var out: Out;
    out.position = view * vec4f(p, 1.0);
    out.color = vec3f(1.0, 0.95, 0.9) * la + vec3f(0.4, 0.5, 0.7) * lb + 0.05;
    out.uv = uv;
    return out;
}
