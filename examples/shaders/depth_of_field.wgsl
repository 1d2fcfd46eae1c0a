// A disc of twelve texels, larger the farther from the focus, without what is sharp.
@group(0) @binding(0) var<uniform> texel: vec2f;
@group(0) @binding(1) var<uniform> focus: vec2f;
@group(1) @binding(0) var image: texture_2d<f32>;
@group(1) @binding(1) var smooth_sampler: sampler;

fn add(sum: vec4f, uv: vec2f, offset: vec2f, size: f32, depth: f32) -> vec4f {
    let s = textureSample(image, smooth_sampler, uv + offset * size * texel);
    let blurred = clamp(abs(s.w - focus.x) * focus.y, 0.0, 1.0);
    let weight = select(blurred, 1.0, s.w > depth);
    return sum + vec4f(s.xyz, 1.0) * weight;
}

@fragment
fn blur(@location(0) uv: vec2f) -> @location(0) vec4f {
    let middle = textureSample(image, smooth_sampler, uv);
    let size = clamp(abs(middle.w - focus.x) * focus.y, 0.0, 1.0) * 8.0;
    var sum = vec4f(middle.xyz, 1.0);
    sum = add(sum, uv, vec2f(-0.326, -0.406), size, middle.w);
    sum = add(sum, uv, vec2f(-0.840, -0.074), size, middle.w);
    sum = add(sum, uv, vec2f(-0.696, 0.457), size, middle.w);
    sum = add(sum, uv, vec2f(-0.203, 0.621), size, middle.w);
    sum = add(sum, uv, vec2f(0.962, -0.195), size, middle.w);
    sum = add(sum, uv, vec2f(0.473, -0.480), size, middle.w);
    sum = add(sum, uv, vec2f(0.519, 0.767), size, middle.w);
    sum = add(sum, uv, vec2f(0.185, -0.893), size, middle.w);
    sum = add(sum, uv, vec2f(0.507, 0.064), size, middle.w);
    sum = add(sum, uv, vec2f(0.896, 0.412), size, middle.w);
    sum = add(sum, uv, vec2f(-0.322, -0.933), size, middle.w);
    sum = add(sum, uv, vec2f(-0.792, -0.598), size, middle.w);
    return vec4f(sum.xyz / sum.w, 1.0);
}
