// Eight Gerstner waves with their tangents.
struct Wave { way: vec4f, form: vec4f }
@group(0) @binding(0) var<uniform> waves: array<Wave, 8>;
@group(0) @binding(1) var<uniform> view: mat4x4f;
@group(0) @binding(2) var<uniform> time: f32;
struct Out { @builtin(position) position: vec4f, @location(0) normal: vec3f, @location(1) foam: f32 }
struct Sum { place: vec3f, along: vec3f, across: vec3f }

fn add(sum: Sum, wave: Wave, p: vec2f) -> Sum {
    let phase = dot(wave.way.xy, p) * wave.form.y + time * wave.form.z;
    let s = sin(phase);
    let c = cos(phase);
    let steep = wave.form.w * wave.form.x;
    let slope = wave.form.y * wave.form.x;
    let place = sum.place + vec3f(wave.way.x * steep * c, wave.form.x * s, wave.way.y * steep * c);
    let along = sum.along + vec3f(-wave.way.x * wave.way.x * slope * s, wave.way.x * slope * c, -wave.way.x * wave.way.y * slope * s);
    let across = sum.across + vec3f(-wave.way.x * wave.way.y * slope * s, wave.way.y * slope * c, -wave.way.y * wave.way.y * slope * s);
    return Sum(place, along, across);
}

@vertex
fn place(@location(0) p: vec2f) -> Out {
    var sum = Sum(vec3f(p.x, 0.0, p.y), vec3f(1.0, 0.0, 0.0), vec3f(0.0, 0.0, 1.0));
    sum = add(sum, waves[0], p);
    sum = add(sum, waves[1], p);
    sum = add(sum, waves[2], p);
    sum = add(sum, waves[3], p);
    sum = add(sum, waves[4], p);
    sum = add(sum, waves[5], p);
    sum = add(sum, waves[6], p);
    sum = add(sum, waves[7], p);
    var out: Out;
    out.position = view * vec4f(sum.place, 1.0);
    out.normal = normalize(cross(sum.across, sum.along));
    out.foam = clamp(1.0 - sum.along.x * sum.across.z + sum.along.z * sum.across.x, 0.0, 1.0);
    return out;
}
