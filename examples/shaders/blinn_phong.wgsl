// Two lights with Blinn's highlight.
struct Light { position: vec3f, color: vec3f }
@group(0) @binding(0) var<uniform> lights: array<Light, 2>;
@group(0) @binding(1) var<uniform> eye: vec3f;
@group(1) @binding(0) var diffuse_map: texture_2d<f32>;
@group(1) @binding(1) var smooth_sampler: sampler;

fn lit(light: Light, p: vec3f, n: vec3f, v: vec3f, albedo: vec3f) -> vec3f {
    let way = light.position - p;
    let attenuation = 1.0 / (1.0 + dot(way, way));
    let l = normalize(way);
    let h = normalize(l + v);
    let diffuse = max(dot(n, l), 0.0);
    let specular = pow(max(dot(n, h), 0.0), 40.0);
    return (albedo * diffuse + specular) * light.color * attenuation;
}

@fragment
fn shade(@location(0) p: vec3f, @location(1) normal: vec3f, @location(2) uv: vec2f) -> @location(0) vec4f {
    let n = normalize(normal);
    let v = normalize(eye - p);
    let albedo = textureSample(diffuse_map, smooth_sampler, uv);
    let color = lit(lights[0], p, n, v, albedo.xyz) + lit(lights[1], p, n, v, albedo.xyz);
    return vec4f(color + 0.03 * albedo.xyz, albedo.w);
}
