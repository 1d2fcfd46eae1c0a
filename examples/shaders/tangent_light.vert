#version 450
// Light and eye into the space of the surface, for bump mapping.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 tangent;
layout(location = 3) in vec2 texcoord;
layout(location = 0) out vec2 uv;
layout(location = 1) out vec3 to_light;
layout(location = 2) out vec3 to_eye;
layout(set = 0, binding = 0) uniform Scene { mat4 model; mat4 view_projection; vec3 light; vec3 eye; };

void main() {
    vec4 world = model * vec4(position, 1.0);
    vec3 n = normalize(mat3(model) * normal);
    vec3 t = normalize(mat3(model) * tangent.xyz);
    t = normalize(t - n * dot(n, t));
    vec3 b = cross(n, t) * tangent.w;
    vec3 l = light - world.xyz;
    vec3 v = eye - world.xyz;
    to_light = vec3(dot(l, t), dot(l, b), dot(l, n));
    to_eye = vec3(dot(v, t), dot(v, b), dot(v, n));
    uv = texcoord;
    gl_Position = view_projection * world;
}
