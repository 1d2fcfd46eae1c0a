#version 450
// Wood: rings around an axis, disturbed by noise.
layout(location = 0) in vec3 place;
layout(location = 1) in vec3 normal;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform Params { vec3 sun; float rings; vec3 light_wood; float grain; vec3 dark_wood; };

float hash(vec3 p) {
    return fract(sin(dot(p, vec3(12.9898, 78.233, 37.719))) * 43758.5453);
}

float soft(vec3 p) {
    vec3 i = floor(p);
    vec3 f = p - i;
    f = f * f * (3.0 - 2.0 * f);
    float a = mix(hash(i), hash(i + vec3(1, 0, 0)), f.x);
    float b = mix(hash(i + vec3(0, 1, 0)), hash(i + vec3(1, 1, 0)), f.x);
    float c = mix(hash(i + vec3(0, 0, 1)), hash(i + vec3(1, 0, 1)), f.x);
    float d = mix(hash(i + vec3(0, 1, 1)), hash(i + vec3(1, 1, 1)), f.x);
    return mix(mix(a, b, f.y), mix(c, d, f.y), f.z);
}

void main() {
    vec3 p = place + 0.3 * soft(place * 2.0);
    float r = length(p.xz) * rings;
    float ring = fract(r + 0.4 * soft(p * 5.0));
    float late = smoothstep(0.2, 0.9, ring) - smoothstep(0.95, 1.0, ring);
    vec3 wood = mix(light_wood, dark_wood, late);
    wood *= 1.0 - grain * soft(vec3(p.x * 60.0, p.y * 2.0, p.z * 60.0));
    float light = max(dot(normalize(normal), sun), 0.0);
    color = vec4(wood * (0.2 + 0.8 * light), 1.0);
}
