// Gradient noise in three and four dimensions, and sums of octaves. There are no tables: the gradient of a
// corner follows from a hash of its cell.
//   DIM       3 or 4
//   OCTAVES   noise functions that are summed, each with twice the frequency of the one before
//   HASH      0: integer mixing, 1: a polynomial modulo 289 in floating point
//   SHAPE     0: plain sum, 1: absolute values (turbulence), 2: ridges, each weighted by the one before, 3: warped domain
//   SLOPE     1: the derivative of the noise as well

#if HASH == 0
uint mix(uint h) {
  h = (h ^ (h >> 16)) * 0x7feb352du;
  h = (h ^ (h >> 15)) * 0x846ca68bu;
  return h ^ (h >> 16);
}
uint hash(int4 at) {
  return mix(at.x + mix(at.y + mix(at.z + (DIM == 4 ? mix(at.w) : 0u))));
}
#else
float remain(float x) { return x - 289.0f * floor(x * (1.0f / 289.0f)); }
float permute(float x) { return remain((34.0f * x + 1.0f) * x); }
uint hash(int4 at) {
  float h = DIM == 4 ? permute(remain(at.w)) : 0.0f;
  h = permute(remain(h + at.z));
  h = permute(remain(h + at.y));
  return (uint)permute(remain(h + at.x));
}
#endif

// One of the edge directions of a cube (or of its counterpart in four dimensions).
float4 direction(uint h) {
  float a = (h & 1) ? 1.0f : -1.0f, b = (h & 2) ? 1.0f : -1.0f, c = (h & 4) ? 1.0f : -1.0f;
  uint axis = (h >> 3) % DIM;
  float4 g = {axis == 0 ? 0.0f : a, axis == 1 ? 0.0f : b, axis == 2 ? 0.0f : c, axis == 3 ? 0.0f : c};
  if (DIM == 3)
    g.w = 0.0f;
  return g;
}

float4 fade(float4 t) { return t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f); }
float4 fade_slope(float4 t) { return 30.0f * t * t * (t * (t - 2.0f) + 1.0f); }

float noise(float4 at, float4 *slope) {
  float4 low = floor(at), part = at - low, weight = fade(part), change = fade_slope(part);
  int4 cell = convert_int4(low);
  float sum = 0.0f;
  float4 sums = 0.0f;
#pragma unroll
  for (int corner = 0; corner < (1 << DIM); ++corner) {
    int4 side = {corner & 1, (corner >> 1) & 1, (corner >> 2) & 1, (corner >> 3) & 1};
    float4 gradient = direction(hash(cell + side));
    float value = dot(gradient, part - convert_float4(side));
    float4 factor = {side.x ? weight.x : 1.0f - weight.x, side.y ? weight.y : 1.0f - weight.y,
                     side.z ? weight.z : 1.0f - weight.z, side.w ? weight.w : 1.0f - weight.w};
    float all = factor.x * factor.y * factor.z;
    if (DIM == 4)
      all *= factor.w;
    sum += all * value;
    if (SLOPE) {
      sums += all * gradient;
      float x = factor.y * factor.z, y = factor.x * factor.z, z = factor.x * factor.y;
      if (DIM == 4)
        x *= factor.w, y *= factor.w, z *= factor.w;
      sums.x += (side.x ? change.x : -change.x) * x * value;
      sums.y += (side.y ? change.y : -change.y) * y * value;
      sums.z += (side.z ? change.z : -change.z) * z * value;
    }
  }
  *slope = sums;
  return sum;
}

kernel void fractal(global float4 *out, global const float4 *in, float gain, float scale) {
  size_t i = get_global_id(0);
  float4 at = in[i], slope = 0.0f;
  float sum = 0.0f, part = 1.0f, before = 1.0f;
#pragma unroll
  for (int octave = 0; octave < OCTAVES; ++octave) {
    float4 own;
    float value = noise(at, &own);
    if (SHAPE == 1)
      value = fabs(value);
    if (SHAPE == 2) {
      value = 1.0f - fabs(value);
      value *= value * before;
      before = clamp(value * gain, 0.0f, 1.0f);
    }
    sum += part * value;
    slope += part * own;
    part *= gain;
    at = at * scale + (SHAPE == 3 ? sum * (float4)(1.7f, 9.2f, 8.3f, 2.8f) : (float4)(0.5f));
  }
  out[i] = SLOPE ? (float4)(sum, slope.x, slope.y, slope.z) : (float4)(sum);
}
