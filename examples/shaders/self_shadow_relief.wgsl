// A relief that shadows itself: sixteen steps towards the eye, then twelve towards the light, then bumps and two lights.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> light: vec3f;
@group(0) @binding(2) var<uniform> fill: vec3f;
@group(0) @binding(3) var<uniform> depth_scale: f32;
@group(1) @binding(0) var relief_map: texture_2d<f32>;
@group(1) @binding(1) var color_map: texture_2d<f32>;
@group(1) @binding(2) var gloss_map: texture_2d<f32>;
@group(1) @binding(3) var smooth_sampler: sampler;

struct Ray { place: vec3f, step: vec3f }

fn march(ray: Ray) -> Ray {
    let depth = textureSample(relief_map, smooth_sampler, ray.place.xy).w;
    let is_above = step(ray.place.z, depth);
    return Ray(ray.place + ray.step * is_above, ray.step);
}

fn halve(ray: Ray) -> Ray {
    let depth = textureSample(relief_map, smooth_sampler, ray.place.xy).w;
    let sign = 2.0 * step(ray.place.z, depth) - 1.0;
    let step = ray.step * 0.5;
    return Ray(ray.place + step * sign, step);
}

fn shadow(place: vec3f, way: vec3f, share: f32) -> f32 {
    let at = place + way * share;
    let depth = textureSample(relief_map, smooth_sampler, at.xy).w;
    return clamp((at.z - depth) * 12.0 * (1.0 - share), 0.0, 1.0);
}

fn lit(n: vec3f, l: vec3f, v: vec3f, albedo: vec3f, gloss: f32) -> vec3f {
    let h = normalize(l + v);
    let diffuse = max(dot(n, l), 0.0);
    let specular = pow(max(dot(n, h), 0.0), 4.0 + 96.0 * gloss) * gloss;
    return albedo * diffuse + specular;
}

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f, @location(2) normal: vec3f,
         @location(3) tangent: vec3f, @location(4) bitangent: vec3f) -> @location(0) vec4f {
    let t = normalize(tangent);
    let b = normalize(bitangent);
    let n = normalize(normal);
    let view = normalize(eye - p);
    let v = vec3f(dot(view, t), dot(view, b), dot(view, n));
    let to_light = normalize(light - p);
    let l = vec3f(dot(to_light, t), dot(to_light, b), dot(to_light, n));
    let to_fill = normalize(fill - p);
    let f = vec3f(dot(to_fill, t), dot(to_fill, b), dot(to_fill, n));
    let way = vec3f(-v.xy / max(v.z, 0.1) * depth_scale, 1.0);
    var ray = Ray(vec3f(uv, 0.0), way / 16.0);
    ray = march(march(march(march(ray))));
    ray = march(march(march(march(ray))));
    ray = march(march(march(march(ray))));
    ray = march(march(march(march(ray))));
    ray = halve(halve(halve(halve(ray))));
    let place = ray.place;
    let up = vec3f(l.xy / max(l.z, 0.1) * depth_scale, -1.0) * place.z;
    var dark = max(shadow(place, up, 0.08), shadow(place, up, 0.16));
    dark = max(dark, max(shadow(place, up, 0.24), shadow(place, up, 0.32)));
    dark = max(dark, max(shadow(place, up, 0.40), shadow(place, up, 0.48)));
    dark = max(dark, max(shadow(place, up, 0.56), shadow(place, up, 0.64)));
    dark = max(dark, max(shadow(place, up, 0.72), shadow(place, up, 0.80)));
    dark = max(dark, max(shadow(place, up, 0.88), shadow(place, up, 0.96)));
    let fill_up = vec3f(f.xy / max(f.z, 0.1) * depth_scale, -1.0) * place.z;
    var dim = max(shadow(place, fill_up, 0.15), shadow(place, fill_up, 0.3));
    dim = max(dim, max(shadow(place, fill_up, 0.45), shadow(place, fill_up, 0.6)));
    dim = max(dim, max(shadow(place, fill_up, 0.75), shadow(place, fill_up, 0.9)));
    let relief = textureSample(relief_map, smooth_sampler, place.xy);
    let bump = normalize(vec3f(relief.xy * 2.0 - 1.0, relief.z));
    let albedo = textureSample(color_map, smooth_sampler, place.xy).xyz;
    let gloss = textureSample(gloss_map, smooth_sampler, place.xy).x;
    let color = lit(bump, l, v, albedo, gloss) * (1.0 - dark) + lit(bump, f, v, albedo, gloss) * (1.0 - dim) * 0.5;
    let ambient = albedo * 0.08 * (1.0 - 0.5 * place.z);
    return vec4f(color + ambient, 1.0);
}
