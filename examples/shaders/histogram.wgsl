// A histogram of brightness: shared memory, barriers and atomic operations.
@group(0) @binding(0) var image: texture_2d<f32>;
@group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>, 256>;
var<workgroup> local_bins: array<atomic<u32>, 256>;

@compute @workgroup_size(256)
fn count(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) index: u32) {
    atomicStore(&local_bins[index], 0u);
    workgroupBarrier();
    let color = textureLoad(image, vec2i(id.xy), 0).xyz;
    let luma = dot(color, vec3f(0.2126, 0.7152, 0.0722));
    let level = clamp((log2(max(luma, 0.0001)) + 10.0) / 14.0, 0.0, 1.0);
    atomicAdd(&local_bins[u32(level * 255.0)], 1u);
    workgroupBarrier();
    atomicAdd(&bins[index], atomicLoad(&local_bins[index]));
}
