// Products of matrices by the matrix units of gfx90a: the tiles of a wave accumulate in registers of a class of their own, which shares a
// file with the vector registers.
//   TILE      16 or 32: rows and columns of a tile
//   ROWS, COLUMNS   tiles of a wave
//   DEPTH     steps between two barriers, unrolled
//   CURVE     1: the results pass through a sigmoid

typedef float few __attribute__((ext_vector_type(4)));
typedef float many __attribute__((ext_vector_type(16)));
#if TILE == 16
typedef few tile;
#define OF_A_LANE 4
#define MULTIPLY __builtin_amdgcn_mfma_f32_16x16x4f32
#else
typedef many tile;
#define OF_A_LANE 16
#define MULTIPLY __builtin_amdgcn_mfma_f32_32x32x2f32
#endif
#define LANES 64

kernel void matrices(global float *c, global const float *restrict a, global const float *restrict b, global const float *restrict bias,
                     int steps, float scale) {
  local float left[ROWS * DEPTH * LANES], right[COLUMNS * DEPTH * LANES];
  int lane = get_local_id(0);
  tile sum[ROWS][COLUMNS] = {};
#pragma nounroll
  for (int step = 0; step < steps; step += DEPTH) {
#pragma unroll
    for (int i = 0; i < ROWS * DEPTH; ++i)
      left[i * LANES + lane] = a[(step * ROWS + i) * LANES + lane];
#pragma unroll
    for (int j = 0; j < COLUMNS * DEPTH; ++j)
      right[j * LANES + lane] = b[(step * COLUMNS + j) * LANES + lane];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int inner = 0; inner < DEPTH; ++inner)
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          sum[i][j] = MULTIPLY(left[(i * DEPTH + inner) * LANES + lane], right[(j * DEPTH + inner) * LANES + lane], sum[i][j], 0, 0, 0);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#pragma unroll
  for (int i = 0; i < ROWS; ++i)
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j)
#pragma unroll
      for (int k = 0; k < OF_A_LANE; ++k) {
        float result = sum[i][j][k] * scale + bias[(j * OF_A_LANE + k) * LANES + lane];
#if CURVE
        result = result / (1 + native_exp(-result));
#endif
        c[((i * COLUMNS + j) * OF_A_LANE + k) * LANES + lane] = result;
      }
}
