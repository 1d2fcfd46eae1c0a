// Kernels for which waves and cycles compete: some run faster with more waves, others slower. They need no library.
//
// scripts/build-llvm-corpus compiles this file as a part of the second corpus. Every kernel computes a real result:
// matrix products, a hash, a fluid, Fourier and cosine transforms, a convolution.

#define FENCE(kind) __builtin_amdgcn_fence(kind, "workgroup")

static inline uint item_x(void) { return __builtin_amdgcn_workitem_id_x(); }
static inline uint item_y(void) { return __builtin_amdgcn_workitem_id_y(); }
static inline uint group_x(void) { return __builtin_amdgcn_workgroup_id_x(); }
static inline uint group_y(void) { return __builtin_amdgcn_workgroup_id_y(); }

static inline void wait_for_group(void) {
  FENCE(__ATOMIC_RELEASE);
  __builtin_amdgcn_s_barrier();
  FENCE(__ATOMIC_ACQUIRE);
}

// Matrix product with local memory: a group computes 128 by 128 numbers, an item 8 by 8. The loads of the next slices
// overlap with the arithmetic of the current ones. a is stored by columns, b by rows.
__attribute__((reqd_work_group_size(16, 16, 1)))
kernel void product_blocked(global float *c, global const float *a, global const float *b, uint size) {
  local float4 left[8][32], right[8][32];
  uint x = item_x(), y = item_y(), item = y * 16 + x, row = item / 32, column = item % 32;
  global const float4 *from_a = (global const float4 *)(a + row * size + group_y() * 128) + column;
  global const float4 *from_b = (global const float4 *)(b + row * size + group_x() * 128) + column;
  float4 sums[8][2], next_a = *from_a, next_b = *from_b;
#pragma unroll
  for (int i = 0; i < 8; i++)
    sums[i][0] = sums[i][1] = (float4)(0.0f);
  for (uint k = 0; k < size; k += 8) {
    left[row][column] = next_a;
    right[row][column] = next_b;
    wait_for_group();
    if (k + 8 < size) {
      from_a += 2 * size;
      from_b += 2 * size;
      next_a = *from_a;
      next_b = *from_b;
    }
#pragma unroll
    for (int l = 0; l < 8; l++) {
      float4 v0 = left[l][2 * y], v1 = left[l][2 * y + 1], w0 = right[l][2 * x], w1 = right[l][2 * x + 1];
      float v[8] = {v0.x, v0.y, v0.z, v0.w, v1.x, v1.y, v1.z, v1.w};
#pragma unroll
      for (int i = 0; i < 8; i++) {
        sums[i][0] += v[i] * w0;
        sums[i][1] += v[i] * w1;
      }
    }
    wait_for_group();
  }
  global float4 *to = (global float4 *)(c + (group_y() * 128 + y * 8) * size + group_x() * 128 + x * 8);
#pragma unroll
  for (int i = 0; i < 8; i++) {
    to[i * (size / 4)] = sums[i][0];
    to[i * (size / 4) + 1] = sums[i][1];
  }
}

// Matrix product from global memory: an item computes 4 by 4 numbers, in four steps per round.
__attribute__((reqd_work_group_size(16, 16, 1)))
kernel void product_plain(global float *c, global const float *a, global const float *b, uint size) {
  uint x = group_x() * 64 + item_x() * 4, y = group_y() * 64 + item_y() * 4;
  float4 sums[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    sums[i] = (float4)(0.0f);
  for (uint k = 0; k < size; k += 4) {
    float4 v[4], w[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      v[i] = *(global const float4 *)(a + (y + i) * size + k);
      w[i] = *(global const float4 *)(b + (k + i) * size + x);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
      sums[i] += v[i].x * w[0] + v[i].y * w[1] + v[i].z * w[2] + v[i].w * w[3];
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    *(global float4 *)(c + (y + i) * size + x) = sums[i];
}

// Matrix product from global memory: an item computes 8 by 8 numbers in registers. a is stored by columns.
__attribute__((reqd_work_group_size(8, 8, 1)))
kernel void product_registers(global float *c, global const float *a, global const float *b, uint size) {
  uint x = group_x() * 64 + item_x() * 8, y = group_y() * 64 + item_y() * 8;
  float sums[8][8];
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 8; j++)
      sums[i][j] = 0.0f;
  for (uint k = 0; k < size; k++) {
    float v[8], w[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
      v[i] = a[k * size + y + i];
      w[i] = b[k * size + x + i];
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
      for (int j = 0; j < 8; j++)
        sums[i][j] += v[i] * w[j];
  }
#pragma unroll
  for (int i = 0; i < 8; i++)
#pragma unroll
    for (int j = 0; j < 8; j++)
      c[(y + i) * size + x + j] = sums[i][j];
}

constant uint hash_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint turn(uint x, uint by) { return x >> by | x << (32 - by); }

// SHA-256 of messages of whole blocks. An item hashes one message, whose words are in the order of the standard.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void sha256(global uint *out, global const uint *in, uint blocks) {
  uint at = group_x() * 64 + item_x();
  uint state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  global const uint *message = in + at * blocks * 16;
  for (uint block = 0; block < blocks; block++, message += 16) {
    uint w[64], v[8];
#pragma unroll
    for (int i = 0; i < 16; i++)
      w[i] = message[i];
#pragma unroll
    for (int i = 16; i < 64; i++) {
      uint early = w[i - 15], late = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (turn(early, 7) ^ turn(early, 18) ^ early >> 3) + (turn(late, 17) ^ turn(late, 19) ^ late >> 10);
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
      v[i] = state[i];
#pragma unroll
    for (int i = 0; i < 64; i++) {
      uint first = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) + hash_constants[i] + w[i];
      uint second = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
#pragma unroll
      for (int k = 7; k > 0; k--)
        v[k] = v[k - 1];
      v[4] += first;
      v[0] = first + second;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
      state[i] += v[i];
  }
#pragma unroll
  for (int i = 0; i < 8; i++)
    out[at * 8 + i] = state[i];
}

// One step of a fluid on a lattice in three dimensions with 19 directions (lattice Boltzmann, one relaxation time). Each
// direction is an array of its own. The caller adds a border, so that no index leaves an array.
#define DIRECTIONS 19
constant int steps[DIRECTIONS][3] = {{0, 0, 0},  {1, 0, 0},   {-1, 0, 0}, {0, 1, 0},   {0, -1, 0}, {0, 0, 1},   {0, 0, -1},
                                     {1, 1, 0},  {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0},  {1, 0, 1},  {-1, 0, -1}, {1, 0, -1},
                                     {-1, 0, 1}, {0, 1, 1},   {0, -1, -1}, {0, 1, -1}, {0, -1, 1}};

__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void lattice(global float *out, global const float *in, uint width, uint slice, uint cells, float rate) {
  uint at = group_x() * 64 + item_x();
  float f[DIRECTIONS], density = 0.0f, x = 0.0f, y = 0.0f, z = 0.0f;
#pragma unroll
  for (int i = 0; i < DIRECTIONS; i++) {
    uint from = at - steps[i][0] - steps[i][1] * width - steps[i][2] * slice;
    f[i] = in[i * cells + from];
    density += f[i];
    x += steps[i][0] * f[i];
    y += steps[i][1] * f[i];
    z += steps[i][2] * f[i];
  }
  float inverse = __builtin_amdgcn_rcpf(density);
  x *= inverse;
  y *= inverse;
  z *= inverse;
  float squares = 1.0f - 1.5f * (x * x + y * y + z * z);
#pragma unroll
  for (int i = 0; i < DIRECTIONS; i++) {
    float weight = i == 0 ? 1.0f / 3.0f : i < 7 ? 1.0f / 18.0f : 1.0f / 36.0f;
    float along = 3.0f * (steps[i][0] * x + steps[i][1] * y + steps[i][2] * z);
    float rest = weight * density * (squares + along + 0.5f * along * along);
    out[i * cells + at] = f[i] + rate * (rest - f[i]);
  }
}

static inline float2 times(float2 a, float2 b) { return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
static inline float2 quarter(float2 a) { return (float2)(a.y, -a.x); }  // times -i

#define HALF_ROOT 0.70710678118654752f

// A transform of 4 values in natural order, and of 8 from two of 4.
static inline void transform4(float2 *v, int first, int step) {
  float2 a = v[first] + v[first + 2 * step], b = v[first] - v[first + 2 * step];
  float2 c = v[first + step] + v[first + 3 * step], d = quarter(v[first + step] - v[first + 3 * step]);
  v[first] = a + c;
  v[first + step] = b + d;
  v[first + 2 * step] = a - c;
  v[first + 3 * step] = b - d;
}

static inline void transform8(float2 *v) {
  transform4(v, 0, 2);
  transform4(v, 1, 2);
  v[3] = times(v[3], (float2)(HALF_ROOT, -HALF_ROOT));
  v[5] = quarter(v[5]);
  v[7] = times(v[7], (float2)(-HALF_ROOT, -HALF_ROOT));
  float2 w[8];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    w[k] = v[2 * k] + v[2 * k + 1];
    w[k + 4] = v[2 * k] - v[2 * k + 1];
  }
#pragma unroll
  for (int k = 0; k < 8; k++)
    v[k] = w[k];
}

// A Fourier transform of 512 points for each group: three rounds of radix 8, with exchanges in local memory. roots[k] is
// the 512th root of unity to the power of -k.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void fourier512(global float2 *data, global const float2 *roots) {
  local float real[576], imaginary[576];
  uint item = item_x(), low = item % 8, high = item / 8;
  float2 v[8];
  data += group_x() * 512;
#pragma unroll
  for (int k = 0; k < 8; k++)
    v[k] = data[item + 64 * k];
  transform8(v);
#pragma unroll
  for (int k = 1; k < 8; k++)
    v[k] = times(v[k], roots[item * k]);
#pragma unroll
  for (int k = 0; k < 8; k++) {
    real[k * 72 + item] = v[k].x;
    imaginary[k * 72 + item] = v[k].y;
  }
  wait_for_group();
#pragma unroll
  for (int k = 0; k < 8; k++)
    v[k] = (float2)(real[high * 72 + low + 8 * k], imaginary[high * 72 + low + 8 * k]);
  wait_for_group();
  transform8(v);
#pragma unroll
  for (int k = 1; k < 8; k++)
    v[k] = times(v[k], roots[low * k * 8]);
#pragma unroll
  for (int k = 0; k < 8; k++) {
    real[high * 72 + k * 8 + low] = v[k].x;
    imaginary[high * 72 + k * 8 + low] = v[k].y;
  }
  wait_for_group();
#pragma unroll
  for (int k = 0; k < 8; k++)
    v[k] = (float2)(real[high * 72 + low * 8 + k], imaginary[high * 72 + low * 8 + k]);
  transform8(v);
#pragma unroll
  for (int k = 0; k < 8; k++)
    data[high + 8 * low + 64 * k] = v[k];
}

constant float2 roots16[10] = {{1.0f, 0.0f},
                               {0.92387953251128676f, -0.38268343236508977f},
                               {HALF_ROOT, -HALF_ROOT},
                               {0.38268343236508977f, -0.92387953251128676f},
                               {0.0f, -1.0f},
                               {-0.38268343236508977f, -0.92387953251128676f},
                               {-HALF_ROOT, -HALF_ROOT},
                               {-0.92387953251128676f, -0.38268343236508977f},
                               {-1.0f, 0.0f},
                               {-0.92387953251128676f, 0.38268343236508977f}};

// Fourier transforms of 16 points in registers. An item transforms two rows.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void fourier16(global float2 *data) {
  const int stride = 65536;
  float2 v[2][16];
  data += group_x() * 64 + item_x();
#pragma unroll
  for (int row = 0; row < 2; row++)
#pragma unroll
    for (int k = 0; k < 16; k++)
      v[row][k] = data[(row * 16 + k) * stride];
#pragma unroll
  for (int row = 0; row < 2; row++) {
#pragma unroll
    for (int k = 0; k < 4; k++)
      transform4(v[row], k, 4);
#pragma unroll
    for (int k = 1; k < 4; k++)
#pragma unroll
      for (int l = 1; l < 4; l++)
        v[row][4 * k + l] = times(v[row][4 * k + l], roots16[k * l]);
#pragma unroll
    for (int k = 0; k < 4; k++)
      transform4(v[row], 4 * k, 1);
  }
#pragma unroll
  for (int row = 0; row < 2; row++)
#pragma unroll
    for (int k = 0; k < 16; k++)
      data[(row * 16 + k) * stride] = v[row][k % 4 * 4 + k / 4];
}

// A convolution with 5 by 5 weights: an item computes one pixel.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void convolution5(global float *out, global const float *in, constant float *weights, uint width) {
  size_t at = group_y() * width + group_x() * 64 + item_x();
  float sum = 0.0f;
  in += at;
#pragma unroll
  for (int y = 0; y < 5; y++, in += width)
#pragma unroll
    for (int x = 0; x < 5; x++)
      sum = __builtin_fmaf(weights[y * 5 + x], in[x], sum);
  out[at] = sum;
}

// One dimension of a cosine transform of 8 values, scaled by 2: sums and differences, then rotations.
static inline void cosine(float *v, int first, int step) {
  const float c1 = 0.98078528040323044f, c2 = 0.92387953251128676f, c3 = 0.83146961230254524f, c4 = HALF_ROOT,
              c5 = 0.55557023301960222f, c6 = 0.38268343236508977f, c7 = 0.19509032201612827f;
  float s[4], d[4];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    s[k] = v[first + k * step] + v[first + (7 - k) * step];
    d[k] = v[first + k * step] - v[first + (7 - k) * step];
  }
  float a = s[0] + s[3], b = s[1] + s[2], c = s[0] - s[3], e = s[1] - s[2];
  v[first] = c4 * (a + b);
  v[first + 4 * step] = c4 * (a - b);
  v[first + 2 * step] = c2 * c + c6 * e;
  v[first + 6 * step] = c6 * c - c2 * e;
  v[first + step] = c1 * d[0] + c3 * d[1] + c5 * d[2] + c7 * d[3];
  v[first + 3 * step] = c3 * d[0] - c7 * d[1] - c1 * d[2] - c5 * d[3];
  v[first + 5 * step] = c5 * d[0] - c1 * d[1] + c7 * d[2] + c3 * d[3];
  v[first + 7 * step] = c7 * d[0] - c5 * d[1] + c3 * d[2] - c1 * d[3];
}

// The cosine transform of a block of 8 by 8 pixels, and its division by a table. An item transforms one block.
__attribute__((reqd_work_group_size(64, 1, 1)))
kernel void cosine8x8(global float *out, global const float *in, constant float *factors, uint width) {
  size_t at = group_y() * 8 * width + (group_x() * 64 + item_x()) * 8;
  float v[64];
  in += at;
  out += at;
#pragma unroll
  for (int y = 0; y < 8; y++, in += width)
#pragma unroll
    for (int x = 0; x < 8; x++)
      v[y * 8 + x] = in[x];
#pragma unroll
  for (int k = 0; k < 8; k++)
    cosine(v, k * 8, 1);
#pragma unroll
  for (int k = 0; k < 8; k++)
    cosine(v, k, 8);
#pragma unroll
  for (int y = 0; y < 8; y++, out += width)
#pragma unroll
    for (int x = 0; x < 8; x++)
      out[x] = v[y * 8 + x] * factors[y * 8 + x];
}
