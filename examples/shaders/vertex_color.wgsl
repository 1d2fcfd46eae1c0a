// The smallest of all: an interpolated colour in a hemisphere of light.
@group(0) @binding(0) var<uniform> up: vec3f;
@group(0) @binding(1) var<uniform> sky: vec3f;
@group(0) @binding(2) var<uniform> ground: vec3f;
@group(0) @binding(3) var<uniform> fog: vec4f;

@fragment
fn shade(@location(0) color: vec3f, @location(1) normal: vec3f, @location(2) depth: f32) -> @location(0) vec4f {
    let n = normalize(normal);
    let mixing = 0.5 + 0.5 * dot(n, up);
    let ambient = mix(ground, sky, mixing);
    let lit = color * ambient + pow(max(dot(n, up), 0.0), 16.0) * 0.25;
    let haze = 1.0 - exp(-depth * fog.w);
    let seen = mix(lit, fog.xyz, clamp(haze, 0.0, 1.0));
    return vec4f(sqrt(seen), 1.0);
}
