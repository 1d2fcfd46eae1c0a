// Sums of a tile in shared memory, in a tree.
@group(0) @binding(0) var<storage, read> values: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> sums: array<vec4f>;
var<workgroup> tile: array<vec4f, 64>;

@compute @workgroup_size(64)
fn reduce(@builtin(local_invocation_index) index: u32, @builtin(workgroup_id) group: vec3u) {
    let start = group.x * 256u + index;
    tile[index] = values[start] + values[start + 64u] + values[start + 128u] + values[start + 192u];
    workgroupBarrier();
    for (var width = 32u; width > 0u; width = width >> 1u) {
        if index < width {
            tile[index] = tile[index] + tile[index + width];
        }
        workgroupBarrier();
    }
    if index == 0u {
        sums[group.x] = tile[0] / 256.0;
    }
}
