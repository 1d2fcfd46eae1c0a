// Thin-film colours and a moving pattern on a card: much arithmetic, few textures.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> tilt: vec2f;
@group(1) @binding(0) var art: texture_2d<f32>;
@group(1) @binding(1) var mask: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;

fn film(path: f32) -> vec3f {
    let phase = path * 6.2831853 / vec3f(0.65, 0.55, 0.45);
    return 0.5 + 0.5 * cos(phase);
}

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f, @location(2) normal: vec3f) -> @location(0) vec4f {
    let n = normalize(normal);
    let v = normalize(eye - p);
    let cosine = abs(dot(n, v));
    let inside = sqrt(1.0 - (1.0 - cosine * cosine) / 2.25);
    let wave = sin(uv.x * 40.0 + tilt.x * 6.0) * sin(uv.y * 40.0 + tilt.y * 6.0);
    let first = film(2.0 * 1.5 * (0.4 + 0.05 * wave) * inside);
    let second = film(2.0 * 1.5 * (0.7 + 0.1 * wave) * inside);
    let stripes = smoothstep(0.4, 0.5, fract(uv.x * 3.0 + uv.y + tilt.x + tilt.y));
    let shine = mix(first, second, stripes);
    let picture = textureSample(art, smooth_sampler, uv).xyz;
    let amount = textureSample(mask, smooth_sampler, uv).x;
    let fresnel = 0.05 + 0.95 * pow(1.0 - cosine, 5.0);
    return vec4f(picture + shine * amount * (0.25 + fresnel), 1.0);
}
