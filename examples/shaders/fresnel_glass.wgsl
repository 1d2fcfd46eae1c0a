// Reflection and dispersed refraction of an environment, by Fresnel's equations.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> tint: vec3f;
@group(1) @binding(0) var surroundings: texture_cube<f32>;
@group(1) @binding(1) var smooth_sampler: sampler;

@fragment
fn shade(@location(0) p: vec3f, @location(1) normal: vec3f) -> @location(0) vec4f {
    let n = normalize(normal);
    let v = normalize(p - eye);
    let mirrored = textureSample(surroundings, smooth_sampler, reflect(v, n)).xyz;
    let red = textureSample(surroundings, smooth_sampler, refract(v, n, 0.65)).x;
    let green = textureSample(surroundings, smooth_sampler, refract(v, n, 0.67)).y;
    let blue = textureSample(surroundings, smooth_sampler, refract(v, n, 0.69)).z;
    let facing = 1.0 - max(-dot(n, v), 0.0);
    let squared = facing * facing;
    let fresnel = 0.04 + 0.96 * squared * squared * facing;
    let through = vec3f(red, green, blue) * tint;
    return vec4f(mix(through, mirrored, fresnel), 1.0);
}
