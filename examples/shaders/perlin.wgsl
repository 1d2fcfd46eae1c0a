// Gradient noise in two dimensions, one octave.
fn hash(p: vec2f) -> vec2f {
    let q = vec2f(dot(p, vec2f(127.1, 311.7)), dot(p, vec2f(269.5, 183.3)));
    return fract(sin(q) * 43758.5453) * 2.0 - 1.0;
}

@fragment
fn shade(@location(0) uv: vec2f) -> @location(0) vec4f {
    let i = floor(uv);
    let f = fract(uv);
    let u = f * f * (3.0 - 2.0 * f);
    let a = dot(hash(i), f);
    let b = dot(hash(i + vec2f(1.0, 0.0)), f - vec2f(1.0, 0.0));
    let c = dot(hash(i + vec2f(0.0, 1.0)), f - vec2f(0.0, 1.0));
    let d = dot(hash(i + vec2f(1.0, 1.0)), f - vec2f(1.0, 1.0));
    let value = mix(mix(a, b, u.x), mix(c, d, u.x), u.y);
    return vec4f(vec3f(0.5 + 0.5 * value), 1.0);
}
