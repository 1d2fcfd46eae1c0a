// Particles in a field of force: reads and writes buffers.
struct Particle { place: vec4f, speed: vec4f }
@group(0) @binding(0) var<uniform> step: vec4f;
@group(0) @binding(1) var<storage, read> old: array<Particle>;
@group(0) @binding(2) var<storage, read_write> moved: array<Particle>;

@compute @workgroup_size(64)
fn move_all(@builtin(global_invocation_id) id: vec3u) {
    let particle = old[id.x];
    let p = particle.place.xyz;
    let to_center = -p;
    let d2 = dot(to_center, to_center) + 0.01;
    let pull = to_center * inverseSqrt(d2) * (step.y / d2);
    let swirl = cross(vec3f(0.0, 1.0, 0.0), p) * step.z;
    let speed = (particle.speed.xyz + (pull + swirl) * step.x) * (1.0 - step.w * step.x);
    let place = p + speed * step.x;
    let age = particle.place.w + step.x;
    moved[id.x].place = vec4f(place, age);
    moved[id.x].speed = vec4f(speed, length(speed));
}
