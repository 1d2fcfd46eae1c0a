// Kernels of different kinds for the tests of the plugin (scripts/test-llvm). They need no library: work items compute
// their index with builtins of the compiler.
//
// Kernels named gain_* have an order with far fewer registers than the stock scheduler finds. The test requires that
// Lowtide reaches more waves.

#define GROUP 64

static inline uint place(void) {
  return __builtin_amdgcn_workgroup_id_x() * GROUP + __builtin_amdgcn_workitem_id_x();
}

static inline void wait_for_group(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Too small for a gain.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void tiny(global float *out, global const float *in) {
  uint i = place();
  out[i] = in[i] * 2.0f + 1.0f;
}

// A block of 64 by 64 through local memory. Each work item computes 8 by 8 of it.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void matrix_product(global float *out, global const float *a, global const float *b, int size) {
  local float left[8][64], right[8][64];
  uint item = __builtin_amdgcn_workitem_id_x(), x = item % 8, y = item / 8;
  a += __builtin_amdgcn_workgroup_id_x() * 64;
  b += __builtin_amdgcn_workgroup_id_y() * 64;
  float sums[8][8];
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 8; j++)
      sums[i][j] = 0.0f;
  for (int k = 0; k < size; k += 8) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      left[i][item] = a[(k + i) * size + item];
      right[i][item] = b[(k + i) * size + item];
    }
    wait_for_group();
#pragma unroll
    for (int l = 0; l < 8; l++)
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
          sums[i][j] += left[l][y * 8 + i] * right[l][x * 8 + j];
    wait_for_group();
  }
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 8; j++)
      out[(y * 8 + i) * size + x * 8 + j] = sums[i][j];
}

static inline float2 times(float2 a, float2 b) {
  return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// A Fourier transform of 16 points in registers, in two rounds of radix 4.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void fourier16(global float2 *data, global const float2 *factors) {
  uint i = place();
  float2 v[16];
#pragma unroll
  for (int k = 0; k < 16; k++)
    v[k] = data[i + k * 4096];
#pragma unroll
  for (int round = 0; round < 2; round++) {
    const int step = round == 0 ? 4 : 1;
#pragma unroll
    for (int k = 0; k < 4; k++) {
      int first = round == 0 ? k : k * 4;
      float2 a = v[first] + v[first + 2 * step], b = v[first] - v[first + 2 * step];
      float2 c = v[first + step] + v[first + 3 * step], d = v[first + step] - v[first + 3 * step];
      d = (float2)(d.y, -d.x);
      v[first] = a + c;
      v[first + step] = times(b + d, factors[k]);
      v[first + 2 * step] = times(a - c, factors[k + 4]);
      v[first + 3 * step] = times(b - d, factors[k + 8]);
    }
  }
#pragma unroll
  for (int k = 0; k < 16; k++)
    data[i + k * 4096] = v[(k % 4) * 4 + k / 4];
}

// A blur: the weighted mean of 81 pixels.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void blur9(global float *out, global const float *in, constant float *weights, int width) {
  uint i = place();
  float sum = 0.0f;
#pragma unroll
  for (int y = 0; y < 9; y++)
#pragma unroll
    for (int x = 0; x < 9; x++)
      sum += weights[y * 9 + x] * in[i + y * width + x];
  out[i] = sum;
}

static inline uint turn(uint x, int by) { return x << by | x >> (32 - by); }

#define QUARTER(a, b, c, d)                                                                                            \
  a += b; d = turn(d ^ a, 16);                                                                                         \
  c += d; b = turn(b ^ c, 12);                                                                                         \
  a += b; d = turn(d ^ a, 8);                                                                                          \
  c += d; b = turn(b ^ c, 7);

// A stream cipher: rounds of additions, rotations and exclusive ors.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void chacha(global uint *out, constant uint *key) {
  uint i = place(), s[16], x[16];
#pragma unroll
  for (int k = 0; k < 16; k++)
    x[k] = s[k] = k == 12 ? i : key[k];
  for (int round = 0; round < 10; round++) {
    QUARTER(x[0], x[4], x[8], x[12]) QUARTER(x[1], x[5], x[9], x[13])
    QUARTER(x[2], x[6], x[10], x[14]) QUARTER(x[3], x[7], x[11], x[15])
    QUARTER(x[0], x[5], x[10], x[15]) QUARTER(x[1], x[6], x[11], x[12])
    QUARTER(x[2], x[7], x[8], x[13]) QUARTER(x[3], x[4], x[9], x[14])
  }
#pragma unroll
  for (int k = 0; k < 16; k++)
    out[i * 16 + k] = x[k] + s[k];
}

// Sixteen polynomials of the same number, in double precision.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void polynomial(global double *out, global const double *in, constant double *factors) {
  uint i = place();
  double x = in[i];
#pragma unroll
  for (int k = 0; k < 16; k++) {
    double sum = factors[k];
#pragma unroll
    for (int degree = 1; degree < 8; degree++)
      sum = __builtin_fma(sum, x, factors[degree * 16 + k]);
    out[i * 16 + k] = sum;
  }
}

// The sum over a work-group.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void reduction(global float *out, global const float4 *in, int count) {
  local float sums[GROUP];
  uint item = __builtin_amdgcn_workitem_id_x();
  float4 sum = 0.0f;
  for (int k = 0; k < count; k++)
    sum += in[place() + k * 65536];
  sums[item] = sum.x + sum.y + sum.z + sum.w;
  wait_for_group();
#pragma unroll
  for (uint step = GROUP / 2; step > 0; step /= 2) {
    if (item < step)
      sums[item] += sums[item + step];
    wait_for_group();
  }
  if (item == 0)
    out[__builtin_amdgcn_workgroup_id_x()] = sums[0];
}

// The prefix sums of a work-group.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void scan(global int *out, global const int *in) {
  local int sums[2][GROUP];
  uint item = __builtin_amdgcn_workitem_id_x();
  sums[0][item] = in[place()];
  wait_for_group();
  int from = 0;
  for (uint step = 1; step < GROUP; step *= 2) {
    int sum = sums[from][item];
    if (item >= step)
      sum += sums[from][item - step];
    sums[1 - from][item] = sum;
    from = 1 - from;
    wait_for_group();
  }
  out[place()] = sums[from][item];
}

// An array with data-dependent indices, which LLVM places in scratch memory.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void scratch(global int *out, global const int *in, int count) {
  int table[128];
  uint i = place();
  for (int k = 0; k < 128; k++)
    table[k] = in[k];
  int at = in[i] & 127;
  for (int k = 0; k < count; k++) {
    int next = table[at];
    table[at] = next + k;
    at = next & 127;
  }
  out[i] = at + table[i & 127];
}

// Needs more registers than eight waves may have: every order spills.
__attribute__((reqd_work_group_size(GROUP, 1, 1), amdgpu_waves_per_eu(8, 8)))
kernel void spills(global float *out, global const float *in, int count) {
  uint i = place();
  float v[48];
#pragma unroll
  for (int k = 0; k < 48; k++)
    v[k] = in[i + k * 1024];
  for (int round = 0; round < count; round++) {
#pragma unroll
    for (int k = 0; k < 48; k++)
      v[k] = v[k] * v[(k + 7) % 48] + v[(k + 29) % 48];
  }
#pragma unroll
  for (int k = 0; k < 48; k++)
    out[i + k * 1024] = v[k];
}

// A call: the calling convention assigns registers.
__attribute__((noinline)) float4 called(float4 a, float4 b, float x) {
  float4 sum = a;
#pragma unroll
  for (int k = 0; k < 12; k++)
    sum = sum * (b + (float)k) + a * x;
  return sum.wzyx;
}

__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void calls(global float4 *out, global const float4 *in) {
  uint i = place();
  float4 a = in[i], b = in[i + 4096];
  float4 c = called(a, b, 2.0f);
  out[i] = called(c, a, 3.0f) + b;
}

// Types wider than 32 bits, which need register tuples, and narrower ones.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void wide(global long4 *out, global const long4 *in, global const uchar16 *bytes, global const short8 *shorts) {
  uint i = place();
  long4 a = in[i], b = in[i + 1024], c = in[i + 2048];
  uchar16 t = bytes[i];
  short8 s = shorts[i] * shorts[i + 64];
  long4 d = a * b + c, e = (a ^ c) + (b << 3);
  d += (long4)(t.s0, t.s5, t.sa, t.sf) * e;
  e -= (long4)(s.s0, s.s3, s.s5, s.s7) * (long4)(t.s1, t.s2, t.s3, t.s4);
  out[i] = d;
  out[i + 1024] = e ^ d.wzyx;
}

static inline void invert(global float *restrict out, global const float *restrict in, uint i) {
  float m[16], upper[6], lower[6];
#pragma unroll
  for (int k = 0; k < 16; k++)
    m[k] = in[i + k];
  const int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
#pragma unroll
  for (int k = 0; k < 6; k++) {
    int a = pairs[k][0], b = pairs[k][1];
    upper[k] = m[a] * m[4 + b] - m[4 + a] * m[b];
    lower[k] = m[8 + a] * m[12 + b] - m[12 + a] * m[8 + b];
  }
  float scale = upper[0] * lower[5] - upper[1] * lower[4] + upper[2] * lower[3] + upper[3] * lower[2] -
                upper[4] * lower[1] + upper[5] * lower[0];
  // For each column the other three, and the pair that each of these leaves over.
  const int columns[4][3] = {{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}};
  const int minors[4][3] = {{5, 4, 3}, {5, 2, 1}, {4, 2, 0}, {3, 1, 0}};
#pragma unroll
  for (int column = 0; column < 4; column++)
#pragma unroll
    for (int row = 0; row < 4; row++) {
      const float *minor = row < 2 ? lower : upper;
      const float *line = m + (row ^ 1) * 4;
      float value = line[columns[column][0]] * minor[minors[column][0]] -
                    line[columns[column][1]] * minor[minors[column][1]] +
                    line[columns[column][2]] * minor[minors[column][2]];
      out[i + column * 4 + row] = ((column + row) % 2 ? -value : value) * scale;
    }
}

// The inverse of a matrix of four by four, times its determinant.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void inverse(global float *out, global const float *in) {
  invert(out, in, place() * 16);
}

// Eight inverses. The allocator loses the waves of every order, and each try takes long.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void inverses(global float *restrict out, global const float *restrict in) {
  uint first = place() * 64;
#pragma unroll
  for (int k = 0; k < 8; k++)
    invert(out, in, first + k * 16);
}

// Sums of six rows, interleaved. Row by row, they need far fewer registers.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void gain_rows(global float *out, global const float *in) {
  uint i = place();
  float v[36], sums[6], sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 36; k++)
    v[k] = in[i + k * 64];
#pragma unroll
  for (int k = 0; k < 6; k++)
    sums[k] = 0.0f;
#pragma unroll
  for (int x = 0; x < 6; x++)
#pragma unroll
    for (int k = 0; k < 6; k++)
      sums[k] += v[k * 6 + x] * v[k * 6 + (x + 1) % 6];
#pragma unroll
  for (int k = 0; k < 6; k++)
    sum = sum * sums[k] + sums[k];
  out[i] = sum;
}

#define LEVEL(count)                                                                                                   \
  _Pragma("unroll") for (int k = 0; k < count; k++) v[k] *= v[k + count];

// A product of 64 factors as a tree, level by level. Branch by branch, few values are live at once.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void gain_tree(global float *out, global const float *in) {
  uint i = place();
  float v[64];
#pragma unroll
  for (int k = 0; k < 64; k++)
    v[k] = in[i + k * 64];
  LEVEL(32) LEVEL(16) LEVEL(8) LEVEL(4) LEVEL(2) LEVEL(1)
  out[i] = v[0];
}

// The same number in every work item: LLVM computes it in scalar registers. There are too many of them, so every order
// spills some to lanes of vector registers.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void scalar_spills(global uint *out, constant uint *in, int count) {
  uint v[112];
#pragma unroll
  for (int k = 0; k < 112; k++)
    v[k] = in[k * 3];
  for (int round = 0; round < count; round++) {
#pragma unroll
    for (int k = 0; k < 112; k++)
      v[k] = v[k] * v[(k + 7) % 112] + v[(k + 29) % 112];
  }
  uint sum = 0;
#pragma unroll
  for (int k = 0; k < 112; k++)
    sum = (sum ^ v[k]) * 3;
  out[place()] = sum;
}

// A tree of products as above, with so many factors in scalar registers that carries beyond the first one do not fit:
// an order that pulls the additions of addresses apart spills scalar registers.
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void scalar_factors(global float *out, global const float *in, constant float *factors, int count) {
  uint i = place();
  float s[104];
#pragma unroll
  for (int k = 0; k < 104; k++)
    s[k] = factors[k * 5];
  for (int round = 0; round < count; round++) {
    float v[64];
#pragma unroll
    for (int k = 0; k < 64; k++)
      v[k] = in[i + k * count + round * 4096];
#pragma unroll
    for (int k = 0; k < 64; k++)
      v[k] = v[k] * s[k] + s[(k * 7 + 26) % 104];
    LEVEL(32) LEVEL(16) LEVEL(8) LEVEL(4) LEVEL(2) LEVEL(1)
    out[i + round * 64] = v[0];
  }
}
