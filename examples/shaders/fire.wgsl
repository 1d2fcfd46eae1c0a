// Fire: noise from a texture that rises and bends itself.
@group(0) @binding(0) var<uniform> time: f32;
@group(1) @binding(0) var noise_map: texture_2d<f32>;
@group(1) @binding(1) var ramp: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;

@fragment
fn burn(@location(0) uv: vec2f) -> @location(0) vec4f {
    let rise = vec2f(0.0, -time);
    let a = textureSample(noise_map, smooth_sampler, uv + rise * 0.4).xy - 0.5;
    let b = textureSample(noise_map, smooth_sampler, uv * 2.0 + rise * 0.9 + a * 0.2).xy - 0.5;
    let c = textureSample(noise_map, smooth_sampler, uv * 4.0 + rise * 1.7 + b * 0.2).xy - 0.5;
    let bend = (a + 0.5 * b + 0.25 * c) * uv.y * 0.4;
    let place = uv + bend;
    let shape = 1.0 - smoothstep(0.1, 0.45, abs(place.x - 0.5) + 0.3 * place.y);
    let heat = clamp(shape * (1.3 - place.y) + c.x * 0.3, 0.0, 1.0);
    let color = textureSample(ramp, smooth_sampler, vec2f(heat, 0.5));
    return vec4f(color.xyz * color.w, heat);
}
