// Fog that is denser near the ground, with the glow of the sun in it.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> sun: vec3f;
@group(0) @binding(2) var<uniform> fog: vec4f;
@group(0) @binding(3) var<uniform> glow: vec4f;
@group(1) @binding(0) var image: texture_2d<f32>;
@group(1) @binding(1) var nearest: sampler;

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f) -> @location(0) vec4f {
    let color = textureSample(image, nearest, uv).xyz;
    let way = p - eye;
    let far = length(way);
    let d = way / far;
    let slope = fog.w * way.y;
    let integral = (1.0 - exp(-slope)) / (slope + 0.0001);
    let amount = clamp(1.0 - exp(-far * fog.x * exp(-eye.y * fog.w) * integral), 0.0, fog.z);
    let toward = pow(max(dot(d, sun), 0.0), 8.0);
    let hue = mix(vec3f(0.5, 0.6, 0.7), glow.xyz, toward * glow.w);
    return vec4f(mix(color, hue, amount), 1.0);
}
