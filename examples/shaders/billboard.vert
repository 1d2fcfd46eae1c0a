#version 450
// Quads that face the eye, turned and faded.
layout(location = 0) in vec3 center;
layout(location = 1) in vec2 corner;
layout(location = 2) in vec4 tint;
layout(location = 3) in vec3 motion;
layout(location = 0) out vec2 uv;
layout(location = 1) out vec4 color;
layout(set = 0, binding = 0) uniform View { mat4 view; mat4 projection; vec4 times; };

void main() {
    float age = fract(times.x + motion.z);
    float angle = motion.y * age;
    vec2 turned = vec2(corner.x * cos(angle) - corner.y * sin(angle), corner.x * sin(angle) + corner.y * cos(angle));
    vec4 seen = view * vec4(center + vec3(0.0, motion.x * age, 0.0), 1.0);
    seen.xy += turned * mix(times.y, times.z, age);
    gl_Position = projection * seen;
    uv = corner * 0.5 + 0.5;
    color = vec4(tint.rgb, tint.a * (1.0 - age) * smoothstep(0.0, 0.1, age));
}
