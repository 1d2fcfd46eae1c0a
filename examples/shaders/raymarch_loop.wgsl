// Sphere tracing with a loop and an early end: several blocks.
@group(0) @binding(0) var<uniform> eye: vec3f;
@group(0) @binding(1) var<uniform> sun: vec3f;

fn scene(p: vec3f) -> f32 {
    let q = p - 4.0 * round(p / 4.0);
    let ball = length(q) - 1.0;
    let box = max(max(abs(q.x), abs(q.y)), abs(q.z)) - 0.8;
    return max(ball, box);
}

@fragment
fn shade(@location(0) direction: vec3f) -> @location(0) vec4f {
    let d = normalize(direction);
    var t = 0.0;
    var hit = false;
    for (var i = 0; i < 64; i++) {
        let near = scene(eye + d * t);
        if near < 0.001 {
            hit = true;
            break;
        }
        t += near;
    }
    if !hit {
        discard;
    }
    let p = eye + d * t;
    let e = vec2f(0.001, 0.0);
    let n = normalize(vec3f(scene(p + e.xyy) - scene(p - e.xyy), scene(p + e.yxy) - scene(p - e.yxy),
                            scene(p + e.yyx) - scene(p - e.yyx)));
    let light = max(dot(n, sun), 0.0) + 0.1;
    return vec4f(vec3f(0.9, 0.6, 0.3) * light * exp(-t * 0.05), 1.0);
}
