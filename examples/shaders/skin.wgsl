// Skin: wrapped diffuse light of different width for each colour, a two-lobe highlight and light through thin parts.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> light: vec3f;
@group(1) @binding(0) var color_map: texture_2d<f32>;
@group(1) @binding(1) var normal_map: texture_2d<f32>;
@group(1) @binding(2) var thickness_map: texture_2d<f32>;
@group(1) @binding(3) var smooth_sampler: sampler;

fn lobe(nh: f32, m: f32) -> f32 {
    let n2 = nh * nh;
    let m2 = m * m;
    return exp((n2 - 1.0) / (m2 * n2 + 0.0001)) / (m2 * n2 * n2 + 0.0001);
}

@fragment
fn shade(@location(0) p: vec3f, @location(1) uv: vec2f, @location(2) normal: vec3f,
         @location(3) tangent: vec4f) -> @location(0) vec4f {
    let vertex_n = normalize(normal);
    let t = normalize(tangent.xyz);
    let b = cross(vertex_n, t) * tangent.w;
    let bump = textureSample(normal_map, smooth_sampler, uv).xyz * 2.0 - 1.0;
    let soft = textureSampleLevel(normal_map, smooth_sampler, uv, 4.0).xyz * 2.0 - 1.0;
    let n = normalize(t * bump.x + b * bump.y + vertex_n * bump.z);
    let soft_n = normalize(t * soft.x + b * soft.y + vertex_n * soft.z);
    let v = normalize(eye - p);
    let l = normalize(light - p);
    let h = normalize(l + v);
    let nl = vec3f(dot(mix(n, soft_n, 0.8), l), dot(mix(n, soft_n, 0.5), l), dot(mix(n, soft_n, 0.3), l));
    let wrap = vec3f(0.45, 0.2, 0.1);
    let diffuse = max((nl + wrap) / (1.0 + wrap), vec3f(0.0));
    let nh = max(dot(n, h), 0.0);
    let fresnel = 0.028 + 0.972 * pow(1.0 - dot(v, h), 5.0);
    let specular = (0.85 * lobe(nh, 0.3) + 0.15 * lobe(nh, 0.15)) * fresnel * max(dot(n, l), 0.0);
    let thickness = textureSample(thickness_map, smooth_sampler, uv).x;
    let behind = clamp(dot(v, -(l + n * 0.3)), 0.0, 1.0);
    let through = vec3f(0.9, 0.25, 0.1) * pow(behind, 3.0) * exp(-thickness * 6.0);
    let color = textureSample(color_map, smooth_sampler, uv).xyz;
    return vec4f(color * (diffuse + through) + specular, 1.0);
}
