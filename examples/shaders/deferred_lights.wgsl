// Eight point lights of a deferred renderer at once.
struct Light { place: vec4f, color: vec4f }
@group(0) @binding(0) var<uniform> lights: array<Light, 8>;
@group(0) @binding(1) var<uniform> eye: vec3f;
@group(1) @binding(0) var position_map: texture_2d<f32>;
@group(1) @binding(1) var normal_map: texture_2d<f32>;
@group(1) @binding(2) var albedo_map: texture_2d<f32>;
@group(1) @binding(3) var nearest: sampler;

fn lit(light: Light, p: vec3f, n: vec3f, v: vec3f, albedo: vec4f, power: f32) -> vec3f {
    let way = light.place.xyz - p;
    let d2 = dot(way, way);
    let l = way * inverseSqrt(d2);
    let fade = clamp(1.0 - d2 * light.place.w, 0.0, 1.0);
    let h = normalize(l + v);
    let specular = pow(max(dot(n, h), 0.0), power) * albedo.w;
    return (albedo.xyz * max(dot(n, l), 0.0) + specular) * light.color.xyz * (fade * fade);
}

@fragment
fn shade(@location(0) uv: vec2f) -> @location(0) vec4f {
    let place = textureSample(position_map, nearest, uv);
    let packed = textureSample(normal_map, nearest, uv);
    let albedo = textureSample(albedo_map, nearest, uv);
    let n = normalize(packed.xyz * 2.0 - 1.0);
    let power = exp2(packed.w * 10.0);
    let v = normalize(eye - place.xyz);
    var color = albedo.xyz * 0.02;
    color += lit(lights[0], place.xyz, n, v, albedo, power);
    color += lit(lights[1], place.xyz, n, v, albedo, power);
    color += lit(lights[2], place.xyz, n, v, albedo, power);
    color += lit(lights[3], place.xyz, n, v, albedo, power);
    color += lit(lights[4], place.xyz, n, v, albedo, power);
    color += lit(lights[5], place.xyz, n, v, albedo, power);
    color += lit(lights[6], place.xyz, n, v, albedo, power);
    color += lit(lights[7], place.xyz, n, v, albedo, power);
    return vec4f(color, 1.0);
}
