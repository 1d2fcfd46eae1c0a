// Loops over double precision that are pipelined by hand: the loads for one turn stand in the turn before it.
//   KIND    0: forces between bodies, 1: complex filter, 2: polynomials (exponential and logarithm), 3: sparse rows
//   COUNT   elements of one turn
//   DEPTH   turns that are in flight

double power(double x) {
  double n = rint(x * 1.4426950408889634), r = fma(n, -0.6931471805599453, x), sum = 1.0 / 40320;
#pragma unroll
  for (int i = 7; i >= 0; --i)
    sum = fma(sum, r, 1.0 / (i == 0 ? 1 : i == 1 ? 1 : i == 2 ? 2 : i == 3 ? 6 : i == 4 ? 24 : i == 5 ? 120 : i == 6 ? 720 : 5040));
  return sum * as_double((long)((int)n + 1023) << 52);
}
double root(double x) {
  double y = as_double(0x5fe6eb50c7b537a9L - (as_long(x) >> 1));
#pragma unroll
  for (int i = 0; i < 3; ++i)
    y = y * fma(-0.5 * x * y, y, 1.5);
  return y;
}

kernel void turns(global double *out, global const double4 *restrict in, global const int *restrict index, int count) {
  size_t own = get_global_id(0);
  double4 self = in[own], sum = 0.0, ahead[DEPTH][COUNT];
#pragma unroll
  for (int turn = 0; turn < DEPTH; ++turn)
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
      ahead[turn][i] = in[turn * COUNT + i];
#pragma nounroll
  for (int at = 0; at < count; at += DEPTH * COUNT) {
#pragma unroll
    for (int turn = 0; turn < DEPTH; ++turn) {
      double4 now[COUNT];
#pragma unroll
      for (int i = 0; i < COUNT; ++i) {
        now[i] = ahead[turn][i];
        int next = at + (DEPTH + turn) * COUNT + i;
        ahead[turn][i] = in[KIND == 3 ? index[next] : next];
      }
#pragma unroll
      for (int i = 0; i < COUNT; ++i) {
        if (KIND == 0) {
          double4 between = now[i] - self;
          double squared = fma(between.x, between.x, fma(between.y, between.y, fma(between.z, between.z, 1e-9)));
          double near = root(squared);
          sum += between * (now[i].w * near * near * near);
        } else if (KIND == 1) {
          sum.x = fma(now[i].x, self.x, fma(-now[i].y, self.y, sum.x));
          sum.y = fma(now[i].x, self.y, fma(now[i].y, self.x, sum.y));
          sum.z = fma(now[i].z, self.z, fma(-now[i].w, self.w, sum.z));
          sum.w = fma(now[i].z, self.w, fma(now[i].w, self.z, sum.w));
        } else if (KIND == 2) {
          sum.x += power(now[i].x * self.x);
          sum.y += power(now[i].y) * now[i].z;
          sum.z += root(now[i].w + 1.0);
        } else {
          sum += now[i] * self.w;
        }
      }
    }
  }
  out[own] = sum.x + sum.y * sum.z - sum.w;
}
