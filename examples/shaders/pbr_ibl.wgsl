// The same with four lights, an environment, occlusion, fog and tone mapping: a shader of a game of today in one block.
struct Light { position: vec3f, intensity: f32, color: vec3f, radius: f32 }
@group(0) @binding(0) var<uniform> lights: array<Light, 4>;
@group(0) @binding(1) var<uniform> eye: vec3f;
@group(0) @binding(2) var<uniform> fog: vec4f;
@group(1) @binding(0) var base_map: texture_2d<f32>;
@group(1) @binding(1) var normal_map: texture_2d<f32>;
@group(1) @binding(2) var surface_map: texture_2d<f32>;
@group(1) @binding(3) var irradiance: texture_cube<f32>;
@group(1) @binding(4) var prefiltered: texture_cube<f32>;
@group(1) @binding(5) var table: texture_2d<f32>;
@group(1) @binding(6) var smooth_sampler: sampler;

fn direct(light: Light, p: vec3f, n: vec3f, v: vec3f, albedo: vec3f, f0: vec3f, roughness: f32, metal: f32) -> vec3f {
    let way = light.position - p;
    let l = normalize(way);
    let h = normalize(v + l);
    let nv = max(dot(n, v), 0.001);
    let nl = max(dot(n, l), 0.0);
    let nh = max(dot(n, h), 0.0);
    let a = roughness * roughness;
    let a2 = a * a;
    let b = nh * nh * (a2 - 1.0) + 1.0;
    let d = a2 / (3.14159265 * b * b);
    let k = a / 2.0;
    let g = 1.0 / ((nv * (1.0 - k) + k) * (nl * (1.0 - k) + k));
    let f = f0 + (1.0 - f0) * pow(1.0 - max(dot(v, h), 0.0), 5.0);
    let d2 = dot(way, way);
    let fade = clamp(1.0 - d2 / (light.radius * light.radius), 0.0, 1.0);
    let radiance = light.color * (light.intensity * fade * fade / (d2 + 1.0));
    let diffuse = (1.0 - f) * (1.0 - metal) * albedo * 0.31830989;
    return (diffuse + f * (d * g * 0.25)) * radiance * nl;
}

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f, @location(2) normal: vec3f,
         @location(3) tangent: vec4f) -> @location(0) vec4f {
    let base = textureSample(base_map, smooth_sampler, uv);
    let surface = textureSample(surface_map, smooth_sampler, uv);
    let bump = textureSample(normal_map, smooth_sampler, uv).xyz * 2.0 - 1.0;
    let vertex_n = normalize(normal);
    let t = normalize(tangent.xyz);
    let bitangent = cross(vertex_n, t) * tangent.w;
    let n = normalize(t * bump.x + bitangent * bump.y + vertex_n * bump.z);
    let v = normalize(eye - p);
    let albedo = pow(base.xyz, vec3f(2.2));
    let f0 = mix(vec3f(0.04), albedo, surface.z);
    var color = direct(lights[0], p, n, v, albedo, f0, surface.y, surface.z);
    color += direct(lights[1], p, n, v, albedo, f0, surface.y, surface.z);
    color += direct(lights[2], p, n, v, albedo, f0, surface.y, surface.z);
    color += direct(lights[3], p, n, v, albedo, f0, surface.y, surface.z);
    let nv = max(dot(n, v), 0.0);
    let fresnel = f0 + (max(vec3f(1.0 - surface.y), f0) - f0) * pow(1.0 - nv, 5.0);
    let around = textureSample(irradiance, smooth_sampler, n).xyz;
    let mirrored = textureSampleLevel(prefiltered, smooth_sampler, reflect(-v, n), surface.y * 6.0).xyz;
    let scale = textureSample(table, smooth_sampler, vec2f(nv, surface.y)).xy;
    let ambient = (1.0 - fresnel) * (1.0 - surface.z) * albedo * around + mirrored * (fresnel * scale.x + scale.y);
    color += ambient * surface.x;
    let haze = 1.0 - exp(-fog.w * distance(eye, p));
    color = mix(color, fog.xyz, haze);
    let mapped = clamp((color * (2.51 * color + 0.03)) / (color * (2.43 * color + 0.59) + 0.14), vec3f(0.0), vec3f(1.0));
    return vec4f(pow(mapped, vec3f(0.4545)), base.w);
}
