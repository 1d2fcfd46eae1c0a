#version 450
// The Mandelbrot set, with smooth colours.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform View { vec2 center; float zoom; };

void main() {
    vec2 c = center + (uv - 0.5) * zoom;
    vec2 z = vec2(0.0);
    float count = 0.0;
    for (int i = 0; i < 200; i++) {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        if (dot(z, z) > 64.0) break;
        count += 1.0;
    }
    float smooth_count = count - log2(log2(max(dot(z, z), 2.0)));
    vec3 phase = vec3(0.0, 0.6, 1.0) + smooth_count * 0.05;
    color = vec4(0.5 + 0.5 * cos(6.2831 * phase), 1.0);
}
