// Three bands of light, a rim, and a hard highlight.
@group(0) @binding(0) var<uniform> light: vec3f;
@group(0) @binding(1) var<uniform> eye: vec3f;
@group(0) @binding(2) var<uniform> shades: array<vec4f, 3>;
@group(1) @binding(0) var paint: texture_2d<f32>;
@group(1) @binding(1) var nearest: sampler;

@fragment
fn shade(@location(0) p: vec3f, @location(1) normal: vec3f, @location(2) uv: vec2f) -> @location(0) vec4f {
    let n = normalize(normal);
    let l = normalize(light - p);
    let v = normalize(eye - p);
    let d = dot(n, l);
    let dark = shades[0].xyz;
    let middle = select(dark, shades[1].xyz, d > shades[0].w);
    let bright = select(middle, shades[2].xyz, d > shades[1].w);
    let r = reflect(-l, n);
    let spot = step(0.95, dot(r, v));
    let rim = smoothstep(0.6, 0.8, 1.0 - dot(n, v)) * step(0.0, d);
    let base = textureSample(paint, nearest, uv).xyz;
    return vec4f(base * bright + spot + rim * 0.5, 1.0);
}
