// Metallic-roughness shading with one punctual light: GGX, Smith, Schlick.
struct Light { position: vec3f, intensity: f32, color: vec3f, radius: f32 }
@group(0) @binding(0) var<uniform> light: Light;
@group(0) @binding(1) var<uniform> eye: vec3f;
@group(1) @binding(0) var base_map: texture_2d<f32>;
@group(1) @binding(1) var normal_map: texture_2d<f32>;
@group(1) @binding(2) var metal_rough_map: texture_2d<f32>;
@group(1) @binding(3) var emission_map: texture_2d<f32>;
@group(1) @binding(4) var smooth_sampler: sampler;

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f, @location(2) normal: vec3f,
         @location(3) tangent: vec3f, @location(4) bitangent: vec3f) -> @location(0) vec4f {
    let base = textureSample(base_map, smooth_sampler, uv);
    let albedo = base.xyz * base.xyz;
    let surface = textureSample(metal_rough_map, smooth_sampler, uv);
    let roughness = clamp(surface.y, 0.05, 1.0);
    let metal = surface.z;
    let bump = textureSample(normal_map, smooth_sampler, uv).xyz * 2.0 - 1.0;
    let n = normalize(mat3x3f(normalize(tangent), normalize(bitangent), normalize(normal)) * bump);
    let v = normalize(eye - p);
    let way = light.position - p;
    let l = normalize(way);
    let h = normalize(v + l);
    let nv = max(dot(n, v), 0.001);
    let nl = max(dot(n, l), 0.0);
    let nh = max(dot(n, h), 0.0);
    let vh = max(dot(v, h), 0.0);
    let alpha = roughness * roughness;
    let alpha2 = alpha * alpha;
    let bottom = nh * nh * (alpha2 - 1.0) + 1.0;
    let distribution = alpha2 / (3.14159265 * bottom * bottom);
    let k = (roughness + 1.0) * (roughness + 1.0) / 8.0;
    let masking = nv / (nv * (1.0 - k) + k) * nl / (nl * (1.0 - k) + k);
    let f0 = mix(vec3f(0.04), albedo, metal);
    let fresnel = f0 + (1.0 - f0) * pow(1.0 - vh, 5.0);
    let specular = fresnel * (distribution * masking / (4.0 * nv * nl + 0.0001));
    let diffuse = (1.0 - fresnel) * (1.0 - metal) * albedo / 3.14159265;
    let d2 = dot(way, way);
    let window = clamp(1.0 - d2 * d2 / pow(light.radius, 4.0), 0.0, 1.0);
    let radiance = light.color * light.intensity * window * window / (d2 + 1.0);
    let emission = textureSample(emission_map, smooth_sampler, uv).xyz;
    return vec4f((diffuse + specular) * radiance * nl + emission, base.w);
}
