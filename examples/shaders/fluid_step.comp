#version 450
// A step of a fluid on a grid: advection, and a force where the mouse is.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform Params { vec4 grid; vec4 mouse; vec4 physics; };
layout(set = 0, binding = 1) uniform texture2D field;
layout(set = 0, binding = 2) uniform sampler smooth_sampler;
layout(set = 0, binding = 3, std430) buffer Result { vec4 result[]; };

void main() {
    vec2 p = vec2(gl_GlobalInvocationID.xy) + 0.5;
    vec4 here = textureLod(sampler2D(field, smooth_sampler), p * grid.zw, 0.0);
    vec2 middle = p - 0.5 * physics.x * here.xy;
    vec4 half_way = textureLod(sampler2D(field, smooth_sampler), middle * grid.zw, 0.0);
    vec2 back = p - physics.x * half_way.xy;
    vec4 carried = textureLod(sampler2D(field, smooth_sampler), back * grid.zw, 0.0);
    vec4 left = textureLod(sampler2D(field, smooth_sampler), (back + vec2(-1.0, 0.0)) * grid.zw, 0.0);
    vec4 right = textureLod(sampler2D(field, smooth_sampler), (back + vec2(1.0, 0.0)) * grid.zw, 0.0);
    vec4 down = textureLod(sampler2D(field, smooth_sampler), (back + vec2(0.0, -1.0)) * grid.zw, 0.0);
    vec4 up = textureLod(sampler2D(field, smooth_sampler), (back + vec2(0.0, 1.0)) * grid.zw, 0.0);
    vec4 spread = (left + right + down + up) * 0.25 - carried;
    float curl = (right.y - left.y) - (up.x - down.x);
    vec2 away = p - mouse.xy;
    float push = exp(-dot(away, away) * physics.w);
    vec4 next = carried + spread * physics.y;
    next.xy += mouse.zw * push + vec2(spread.y, -spread.x) * curl * physics.z;
    next.zw *= 0.998;
    result[gl_GlobalInvocationID.y * uint(grid.x) + gl_GlobalInvocationID.x] = next;
}
