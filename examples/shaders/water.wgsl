// Water: four moving layers of waves, reflection, refraction by depth, foam and the sun.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> sun: vec3f;
@group(0) @binding(2) var<uniform> time: f32;
@group(1) @binding(0) var wave_map: texture_2d<f32>;
@group(1) @binding(1) var sky: texture_cube<f32>;
@group(1) @binding(2) var floor_map: texture_2d<f32>;
@group(1) @binding(3) var foam_map: texture_2d<f32>;
@group(1) @binding(4) var smooth_sampler: sampler;

fn wave(uv: vec2f, speed: vec2f, size: f32) -> vec3f {
    return textureSample(wave_map, smooth_sampler, uv * size + speed * time).xyz * 2.0 - 1.0;
}

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f, @location(2) depth: f32,
         @location(3) screen: vec4f) -> @location(0) vec4f {
    let waves = wave(uv, vec2f(0.02, 0.01), 4.0) * 0.4 + wave(uv, vec2f(-0.01, 0.03), 8.0) * 0.3
        + wave(uv, vec2f(0.03, -0.02), 16.0) * 0.2 + wave(uv, vec2f(-0.02, -0.04), 32.0) * 0.1;
    let n = normalize(vec3f(waves.xy, waves.z + 1.0));
    let v = normalize(eye - p);
    let r = reflect(-v, n);
    let above = textureSample(sky, smooth_sampler, r).xyz;
    let seen = screen.xy / screen.w * 0.5 + 0.5 + n.xy * 0.03;
    let below = textureSample(floor_map, smooth_sampler, seen).xyz;
    let absorption = exp(-vec3f(0.45, 0.12, 0.08) * depth);
    let fresnel = 0.02 + 0.98 * pow(1.0 - max(dot(n, v), 0.0), 5.0);
    let glitter = pow(max(dot(r, sun), 0.0), 256.0);
    let foam = textureSample(foam_map, smooth_sampler, uv * 12.0 + n.xy * 0.1).x * smoothstep(1.5, 0.0, depth);
    let body = mix(vec3f(0.0, 0.08, 0.1), below, absorption);
    return vec4f(mix(body, above, fresnel) + glitter + foam, 1.0);
}
