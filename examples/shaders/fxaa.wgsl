// Edges smoothed along their direction, found by luminance.
@group(0) @binding(0) var<uniform> texel: vec2f;
@group(1) @binding(0) var image: texture_2d<f32>;
@group(1) @binding(1) var smooth_sampler: sampler;

fn luma(c: vec3f) -> f32 { return dot(c, vec3f(0.299, 0.587, 0.114)); }

fn read(uv: vec2f) -> vec3f { return textureSampleLevel(image, smooth_sampler, uv, 0.0).xyz; }

@fragment
fn smooth_edges(@location(0) uv: vec2f) -> @location(0) vec4f {
    let nw = luma(read(uv + vec2f(-1.0, -1.0) * texel));
    let ne = luma(read(uv + vec2f(1.0, -1.0) * texel));
    let sw = luma(read(uv + vec2f(-1.0, 1.0) * texel));
    let se = luma(read(uv + vec2f(1.0, 1.0) * texel));
    let middle = read(uv);
    let m = luma(middle);
    let low = min(m, min(min(nw, ne), min(sw, se)));
    let high = max(m, max(max(nw, ne), max(sw, se)));
    let way = vec2f(sw + se - nw - ne, nw + sw - ne - se);
    let reduce = max((nw + ne + sw + se) * 0.03125, 0.0078125);
    let scale = 1.0 / (min(abs(way.x), abs(way.y)) + reduce);
    let d = clamp(way * scale, vec2f(-8.0), vec2f(8.0)) * texel;
    let a = 0.5 * (read(uv + d * -0.16667) + read(uv + d * 0.16667));
    let b = a * 0.5 + 0.25 * (read(uv + d * -0.5) + read(uv + d * 0.5));
    let lb = luma(b);
    let result = select(b, a, lb < low || lb > high);
    let flat = high - low < max(0.0312, high * 0.125);
    return vec4f(select(result, middle, flat), 1.0);
}
