// Blades of grass in the wind, placed by their number.
@group(0) @binding(0) var<uniform> view: mat4x4f;
@group(0) @binding(1) var<uniform> wind: vec4f;
struct Out { @builtin(position) position: vec4f, @location(0) shade: vec3f, @location(1) height: f32 }

fn random(n: f32) -> f32 { return fract(sin(n) * 43758.5453); }

@vertex
fn place(@builtin(instance_index) number: u32, @location(0) blade: vec3f) -> Out {
    let seed = f32(number);
    let spot = vec2f(random(seed), random(seed + 17.0)) * 40.0 - 20.0;
    let angle = random(seed + 31.0) * 6.2831853;
    let s = sin(angle);
    let c = cos(angle);
    let size = 0.6 + 0.8 * random(seed + 47.0);
    let turned = vec3f(blade.x * c - blade.z * s, blade.y * size, blade.x * s + blade.z * c);
    let gust = sin(dot(spot, wind.xy) * 0.3 + wind.z * 2.0) * 0.5 + sin(wind.z * 5.0 + seed) * 0.15;
    let bend = blade.y * blade.y * gust * wind.w;
    let p = turned + vec3f(spot.x + bend, -abs(bend) * 0.3, spot.y + bend * 0.5);
    var out: Out;
    out.position = view * vec4f(p, 1.0);
    out.shade = mix(vec3f(0.05, 0.15, 0.02), vec3f(0.4, 0.6, 0.15), blade.y) * (0.7 + 0.3 * random(seed + 5.0));
    out.height = blade.y;
    return out;
}
