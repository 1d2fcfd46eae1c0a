// One direction of a Gauss filter: nine texels.
@group(0) @binding(0) var<uniform> step: vec2f;
@group(1) @binding(0) var image: texture_2d<f32>;
@group(1) @binding(1) var smooth_sampler: sampler;

@fragment
fn blur(@location(0) uv: vec2f) -> @location(0) vec4f {
    var sum = textureSample(image, smooth_sampler, uv) * 0.2270;
    sum += textureSample(image, smooth_sampler, uv + step) * 0.1945;
    sum += textureSample(image, smooth_sampler, uv - step) * 0.1945;
    sum += textureSample(image, smooth_sampler, uv + step * 2.0) * 0.1216;
    sum += textureSample(image, smooth_sampler, uv - step * 2.0) * 0.1216;
    sum += textureSample(image, smooth_sampler, uv + step * 3.0) * 0.0541;
    sum += textureSample(image, smooth_sampler, uv - step * 3.0) * 0.0541;
    sum += textureSample(image, smooth_sampler, uv + step * 4.0) * 0.0162;
    sum += textureSample(image, smooth_sampler, uv - step * 4.0) * 0.0162;
    return sum;
}
