// Fills the buffers of a deferred renderer: four outputs.
struct Out {
    @location(0) albedo: vec4f,
    @location(1) normal: vec4f,
    @location(2) surface: vec4f,
    @location(3) emission: vec4f,
}
@group(0) @binding(0) var<uniform> tint: vec4f;
@group(1) @binding(0) var base_map: texture_2d<f32>;
@group(1) @binding(1) var normal_map: texture_2d<f32>;
@group(1) @binding(2) var surface_map: texture_2d<f32>;
@group(1) @binding(3) var emission_map: texture_2d<f32>;
@group(1) @binding(4) var detail_map: texture_2d<f32>;
@group(1) @binding(5) var smooth_sampler: sampler;

@fragment
fn fill(@location(0) uv: vec2f, @location(1) normal: vec3f, @location(2) tangent: vec4f,
        @location(3) depth: f32) -> Out {
    let base = textureSample(base_map, smooth_sampler, uv) * tint;
    let detail = textureSample(detail_map, smooth_sampler, uv * 16.0);
    let bump = textureSample(normal_map, smooth_sampler, uv).xyz * 2.0 - 1.0;
    let fine = detail.xyz * 2.0 - 1.0;
    let both = normalize(vec3f(bump.xy + fine.xy, bump.z * fine.z));
    let n = normalize(normal);
    let t = normalize(tangent.xyz - n * dot(n, tangent.xyz));
    let world = normalize(t * both.x + cross(n, t) * tangent.w * both.y + n * both.z);
    let sum = abs(world.x) + abs(world.y) + abs(world.z);
    let flat = world.xy / sum;
    let folded = (1.0 - abs(flat.yx)) * select(vec2f(-1.0), vec2f(1.0), flat >= vec2f(0.0));
    let packed = select(flat, folded, world.z < 0.0) * 0.5 + 0.5;
    let surface = textureSample(surface_map, smooth_sampler, uv);
    let roughness = clamp(surface.y + (1.0 - detail.w) * 0.2, 0.04, 1.0);
    let emission = textureSample(emission_map, smooth_sampler, uv).xyz;
    var out: Out;
    out.albedo = vec4f(base.xyz * mix(0.8, 1.2, detail.w), base.w);
    out.normal = vec4f(packed, depth, 1.0);
    out.surface = vec4f(surface.x, roughness, surface.z, 0.5);
    out.emission = vec4f(emission * emission * 8.0, 1.0);
    return out;
}
