// Parallax mapping with two refinements of the offset before the bumps are lit.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> light: vec3f;
@group(1) @binding(0) var height_map: texture_2d<f32>;
@group(1) @binding(1) var normal_map: texture_2d<f32>;
@group(1) @binding(2) var color_map: texture_2d<f32>;
@group(1) @binding(3) var smooth_sampler: sampler;

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f, @location(2) normal: vec3f,
         @location(3) tangent: vec3f, @location(4) bitangent: vec3f) -> @location(0) vec4f {
    let frame = mat3x3f(tangent, bitangent, normal);
    let v = normalize(transpose(frame) * (eye - p));
    let l = normalize(transpose(frame) * (light - p));
    let h0 = textureSample(height_map, smooth_sampler, uv).x * 0.06 - 0.03;
    let uv1 = uv + v.xy * h0;
    let h1 = textureSample(height_map, smooth_sampler, uv1).x * 0.06 - 0.03;
    let uv2 = uv1 + v.xy * (h1 - h0) * 0.5;
    let h2 = textureSample(height_map, smooth_sampler, uv2).x * 0.06 - 0.03;
    let place = uv2 + v.xy * (h2 - h1) * 0.5;
    let n = normalize(textureSample(normal_map, smooth_sampler, place).xyz * 2.0 - 1.0);
    let color = textureSample(color_map, smooth_sampler, place).xyz;
    let h = normalize(l + v);
    let diffuse = max(dot(n, l), 0.0);
    let specular = pow(max(dot(n, h), 0.0), 64.0);
    return vec4f(color * (0.1 + diffuse) + 0.4 * specular, 1.0);
}
