// Marble: veins bent by turbulence from a noise texture.
@group(1) @binding(0) var noise_map: texture_3d<f32>;
@group(1) @binding(1) var smooth_sampler: sampler;
@group(0) @binding(0) var<uniform> sun: vec3f;

@fragment
fn shade(@location(0) p: vec3f, @location(1) normal: vec3f) -> @location(0) vec4f {
    let a = abs(textureSample(noise_map, smooth_sampler, p).x * 2.0 - 1.0);
    let b = abs(textureSample(noise_map, smooth_sampler, p * 2.0).x * 2.0 - 1.0) * 0.5;
    let c = abs(textureSample(noise_map, smooth_sampler, p * 4.0).x * 2.0 - 1.0) * 0.25;
    let d = abs(textureSample(noise_map, smooth_sampler, p * 8.0).x * 2.0 - 1.0) * 0.125;
    let turbulence = a + b + c + d;
    let vein = sin(p.x * 6.0 + turbulence * 9.0) * 0.5 + 0.5;
    let sharp = pow(vein, 0.4);
    let color = mix(vec3f(0.15, 0.12, 0.2), vec3f(0.95, 0.93, 0.9), sharp);
    let n = normalize(normal);
    let light = max(dot(n, sun), 0.0) + 0.1;
    return vec4f(color * light, 1.0);
}
