// Clouds: five octaves of value noise in three dimensions, twice, with light from above.
@group(0) @binding(0) var<uniform> time: f32;
@group(0) @binding(1) var<uniform> sun: vec3f;

fn hash(p: vec3f) -> f32 {
    let q = fract(p * 0.1031);
    let r = q + dot(q, q.zyx + 31.32);
    return fract((r.x + r.y) * r.z);
}

fn noise(p: vec3f) -> f32 {
    let i = floor(p);
    let f = fract(p);
    let u = f * f * (3.0 - 2.0 * f);
    let x0 = mix(hash(i), hash(i + vec3f(1.0, 0.0, 0.0)), u.x);
    let x1 = mix(hash(i + vec3f(0.0, 1.0, 0.0)), hash(i + vec3f(1.0, 1.0, 0.0)), u.x);
    let x2 = mix(hash(i + vec3f(0.0, 0.0, 1.0)), hash(i + vec3f(1.0, 0.0, 1.0)), u.x);
    let x3 = mix(hash(i + vec3f(0.0, 1.0, 1.0)), hash(i + vec3f(1.0, 1.0, 1.0)), u.x);
    return mix(mix(x0, x1, u.y), mix(x2, x3, u.y), u.z);
}

fn layers(p: vec3f) -> f32 {
    let q = p + vec3f(0.1, 0.0, 0.05) * time;
    return 0.5 * noise(q) + 0.25 * noise(q * 2.02) + 0.125 * noise(q * 4.05) + 0.0625 * noise(q * 8.1)
        + 0.03125 * noise(q * 16.3);
}

@fragment
fn shade(@location(0) direction: vec3f) -> @location(0) vec4f {
    let d = normalize(direction);
    let p = d * (2.0 / max(d.y, 0.05));
    let here = layers(p);
    let above = layers(p + sun * 0.3);
    let cover = smoothstep(0.45, 0.75, here);
    let light = clamp(here - above + 0.6, 0.0, 1.0);
    let sky = mix(vec3f(0.6, 0.75, 0.95), vec3f(0.2, 0.4, 0.8), d.y);
    let cloud = mix(vec3f(0.45, 0.5, 0.55), vec3f(1.0, 0.98, 0.95), light);
    return vec4f(mix(sky, cloud, cover), 1.0);
}
