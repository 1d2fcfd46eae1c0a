// Tangent-space bump mapping with a specular highlight, one light.
struct Light { position: vec3f, range: f32, color: vec3f, power: f32 }
@group(0) @binding(0) var<uniform> light: Light;
@group(0) @binding(1) var<uniform> eye: vec3f;
@group(1) @binding(0) var albedo_map: texture_2d<f32>;
@group(1) @binding(1) var normal_map: texture_2d<f32>;
@group(1) @binding(2) var gloss_map: texture_2d<f32>;
@group(1) @binding(3) var filtered: sampler;

struct Surface {
    @location(0) position: vec3f,
    @location(1) uv: vec2f,
    @location(2) normal: vec3f,
    @location(3) tangent: vec4f,
}

@fragment
fn shade(surface: Surface) -> @location(0) vec4f {
    let n = normalize(surface.normal);
    let t = normalize(surface.tangent.xyz - n * dot(n, surface.tangent.xyz));
    let b = cross(n, t) * surface.tangent.w;
    let bump = textureSample(normal_map, filtered, surface.uv).xyz * 2.0 - 1.0;
    let normal = normalize(t * bump.x + b * bump.y + n * bump.z);
    let to_light = light.position - surface.position;
    let distance = length(to_light);
    let l = to_light / distance;
    let v = normalize(eye - surface.position);
    let h = normalize(l + v);
    let gloss = textureSample(gloss_map, filtered, surface.uv).x;
    let diffuse = max(dot(normal, l), 0.0);
    let specular = pow(max(dot(normal, h), 0.0), 8.0 + 120.0 * gloss) * gloss;
    let fade = clamp(1.0 - distance / light.range, 0.0, 1.0);
    let albedo = textureSample(albedo_map, filtered, surface.uv).xyz;
    let color = (albedo * diffuse + specular) * light.color * light.power * fade * fade;
    return vec4f(color, 1.0);
}
