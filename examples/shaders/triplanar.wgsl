// One texture from three sides, so that steep walls are not stretched.
@group(0) @binding(0) var<uniform> sun: vec3f;
@group(1) @binding(0) var color_map: texture_2d<f32>;
@group(1) @binding(1) var normal_map: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;

@fragment
fn shade(@location(0) p: vec3f, @location(1) normal: vec3f) -> @location(0) vec4f {
    let n = normalize(normal);
    let raw = pow(abs(n), vec3f(4.0));
    let weight = raw / (raw.x + raw.y + raw.z);
    let cx = textureSample(color_map, smooth_sampler, p.yz * 0.25).xyz;
    let cy = textureSample(color_map, smooth_sampler, p.zx * 0.25).xyz;
    let cz = textureSample(color_map, smooth_sampler, p.xy * 0.25).xyz;
    let nx = textureSample(normal_map, smooth_sampler, p.yz * 0.25).xyz * 2.0 - 1.0;
    let ny = textureSample(normal_map, smooth_sampler, p.zx * 0.25).xyz * 2.0 - 1.0;
    let nz = textureSample(normal_map, smooth_sampler, p.xy * 0.25).xyz * 2.0 - 1.0;
    let color = cx * weight.x + cy * weight.y + cz * weight.z;
    let bx = vec3f(0.0, nx.x, nx.y);
    let by = vec3f(ny.y, 0.0, ny.x);
    let bz = vec3f(nz.x, nz.y, 0.0);
    let bumped = normalize(n + bx * weight.x + by * weight.y + bz * weight.z);
    return vec4f(color * (max(dot(bumped, sun), 0.0) + 0.15), 1.0);
}
