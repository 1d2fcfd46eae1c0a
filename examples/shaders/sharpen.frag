#version 450
// Sharpens by the contrast of the neighbours, so that strong edges do not ring.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform Params { vec2 texel; float amount; };
layout(set = 0, binding = 1) uniform texture2D image;
layout(set = 0, binding = 2) uniform sampler smooth_sampler;

vec3 at(float x, float y) {
    return texture(sampler2D(image, smooth_sampler), uv + vec2(x, y) * texel).xyz;
}

void main() {
    vec3 e = at(0.0, 0.0);
    vec3 b = at(0.0, -1.0);
    vec3 d = at(-1.0, 0.0);
    vec3 f = at(1.0, 0.0);
    vec3 h = at(0.0, 1.0);
    vec3 low = min(e, min(min(b, d), min(f, h)));
    vec3 high = max(e, max(max(b, d), max(f, h)));
    vec3 room = clamp(min(low, 1.0 - high) / max(high, vec3(0.001)), 0.0, 1.0);
    vec3 weight = sqrt(room) * (-1.0 / mix(8.0, 5.0, amount));
    vec3 sharp = ((b + d + f + h) * weight + e) / (1.0 + 4.0 * weight);
    color = vec4(clamp(sharp, 0.0, 1.0), 1.0);
}
