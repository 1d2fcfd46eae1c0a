// Daylight: Rayleigh and Mie scattering along eight steps of the view ray.
@group(0) @binding(0) var<uniform> sun: vec3f;

fn density(height: f32) -> vec2f {
    return vec2f(exp(-height / 8.0), exp(-height / 1.2));
}

fn scatter(way: vec3f, share: f32, before: vec4f) -> vec4f {
    let at = way * share * 20.0;
    let here = density(at.y);
    let to_sun = density(at.y + 2.0) * (4.0 / max(sun.y, 0.1));
    let depth = before.w + here.x * 2.5;
    let loss = exp(-(vec3f(0.0058, 0.0135, 0.0331) * (depth + to_sun.x) + 0.021 * to_sun.y));
    return vec4f(before.xyz + loss * (here.x + 0.6 * here.y), depth);
}

@fragment
fn shade(@location(0) direction: vec3f) -> @location(0) vec4f {
    let way = normalize(direction);
    let mu = dot(way, sun);
    let rayleigh = 0.0597 * (1.0 + mu * mu);
    let g = 0.76;
    let mie = 0.1194 * (1.0 - g * g) * (1.0 + mu * mu) / ((2.0 + g * g) * pow(1.0 + g * g - 2.0 * g * mu, 1.5));
    var light = vec4f(0.0);
    light = scatter(way, 0.06, light);
    light = scatter(way, 0.19, light);
    light = scatter(way, 0.31, light);
    light = scatter(way, 0.44, light);
    light = scatter(way, 0.56, light);
    light = scatter(way, 0.69, light);
    light = scatter(way, 0.81, light);
    light = scatter(way, 0.94, light);
    let color = light.xyz * (rayleigh * vec3f(0.18, 0.41, 1.0) + mie * 0.4);
    let disc = smoothstep(0.9995, 0.9998, mu);
    return vec4f(1.0 - exp(-(color + disc * 10.0)), 1.0);
}
