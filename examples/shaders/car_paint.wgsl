// Car paint: metal flakes under a clear coat.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> paint_face: vec3f;
@group(0) @binding(2) var<uniform> paint_edge: vec3f;
@group(0) @binding(3) var<uniform> flake_color: vec3f;
@group(1) @binding(0) var flake_map: texture_2d<f32>;
@group(1) @binding(1) var surroundings: texture_cube<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f, @location(2) normal: vec3f,
         @location(3) tangent: vec3f, @location(4) bitangent: vec3f) -> @location(0) vec4f {
    let flakes = textureSample(flake_map, smooth_sampler, uv * 32.0).xyz * 2.0 - 1.0;
    let n = normalize(normal);
    let rough_n = normalize(0.2 * flakes + vec3f(0.0, 0.0, 1.0));
    let flake_n = normalize(flakes + vec3f(0.0, 0.0, 1.0));
    let frame = mat3x3f(normalize(tangent), normalize(bitangent), n);
    let n1 = frame * rough_n;
    let n2 = frame * flake_n;
    let v = normalize(eye - p);
    let f1 = clamp(dot(n1, v), 0.0, 1.0);
    let f2 = clamp(dot(n2, v), 0.0, 1.0);
    let f1_squared = f1 * f1;
    let paint = f1 * paint_face + f1_squared * paint_edge + f1_squared * f1_squared * paint_face * 0.5
        + pow(f2, 16.0) * flake_color;
    let r = reflect(-v, n);
    let coat = textureSampleLevel(surroundings, smooth_sampler, r, 1.0);
    let brightness = coat.w * 8.0 + 1.0;
    let fresnel = 0.08 + 0.92 * pow(1.0 - max(dot(n, v), 0.0), 5.0);
    return vec4f(mix(paint, coat.xyz * brightness, fresnel), 1.0);
}
