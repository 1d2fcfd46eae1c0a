#version 450
// Grain, a vignette and slightly shifted colours.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform Params { float time; float grain; float shift; float dark; };
layout(set = 0, binding = 1) uniform texture2D image;
layout(set = 0, binding = 2) uniform sampler smooth_sampler;

void main() {
    vec2 way = uv - 0.5;
    float r2 = dot(way, way);
    vec2 offset = way * r2 * shift;
    float r = texture(sampler2D(image, smooth_sampler), uv + offset).r;
    float g = texture(sampler2D(image, smooth_sampler), uv).g;
    float b = texture(sampler2D(image, smooth_sampler), uv - offset).b;
    float noise = fract(sin(dot(uv + time, vec2(12.9898, 78.233))) * 43758.5453) - 0.5;
    vec3 seen = vec3(r, g, b) * (1.0 - dark * smoothstep(0.2, 0.6, r2));
    float luma = dot(seen, vec3(0.299, 0.587, 0.114));
    color = vec4(seen + noise * grain * (1.0 - luma), 1.0);
}
