// Cell noise: the nearest of nine points, and the second nearest.
fn point(cell: vec2f) -> vec2f {
    let q = vec2f(dot(cell, vec2f(127.1, 311.7)), dot(cell, vec2f(269.5, 183.3)));
    return fract(sin(q) * 18.5453);
}

fn nearest(best: vec2f, i: vec2f, f: vec2f, offset: vec2f) -> vec2f {
    let way = offset + point(i + offset) - f;
    let d = dot(way, way);
    return vec2f(min(best.x, d), max(best.x, min(best.y, d)));
}

@fragment
fn shade(@location(0) uv: vec2f) -> @location(0) vec4f {
    let p = uv * 8.0;
    let i = floor(p);
    let f = fract(p);
    var best = vec2f(8.0);
    best = nearest(best, i, f, vec2f(-1.0, -1.0));
    best = nearest(best, i, f, vec2f(0.0, -1.0));
    best = nearest(best, i, f, vec2f(1.0, -1.0));
    best = nearest(best, i, f, vec2f(-1.0, 0.0));
    best = nearest(best, i, f, vec2f(0.0, 0.0));
    best = nearest(best, i, f, vec2f(1.0, 0.0));
    best = nearest(best, i, f, vec2f(-1.0, 1.0));
    best = nearest(best, i, f, vec2f(0.0, 1.0));
    best = nearest(best, i, f, vec2f(1.0, 1.0));
    let d = sqrt(best);
    let edge = smoothstep(0.0, 0.1, d.y - d.x);
    return vec4f(vec3f(1.0 - d.x) * edge, 1.0);
}
