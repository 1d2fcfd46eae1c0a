// Four bones for each vertex, for place, normal and tangent.
@group(0) @binding(0) var<uniform> bones: array<mat4x4f, 64>;
@group(0) @binding(1) var<uniform> view: mat4x4f;
struct Out {
    @builtin(position) position: vec4f,
    @location(0) world: vec3f,
    @location(1) normal: vec3f,
    @location(2) tangent: vec3f,
    @location(3) uv: vec2f,
}

@vertex
fn place(@location(0) position: vec3f, @location(1) normal: vec3f, @location(2) tangent: vec3f,
         @location(3) uv: vec2f, @location(4) joints: vec4u, @location(5) weights: vec4f) -> Out {
    let m = bones[joints.x] * weights.x + bones[joints.y] * weights.y + bones[joints.z] * weights.z
        + bones[joints.w] * weights.w;
    let world = m * vec4f(position, 1.0);
    var out: Out;
    out.position = view * world;
    out.world = world.xyz;
    out.normal = normalize((m * vec4f(normal, 0.0)).xyz);
    out.tangent = normalize((m * vec4f(tangent, 0.0)).xyz);
    out.uv = uv;
    return out;
}
