// Small dense systems and collisions on a lattice, one for each work item.
//   REAL   float or double
//   KIND   0: LU without pivots, 1: Cholesky, 2: inverse by Gauss and Jordan, 3: collision of a lattice Boltzmann method
//   SIZE   rows of the matrix, or directions of the lattice (19 or 27)

kernel void solve(global REAL *out, global const REAL *restrict in, int apart, REAL rate) {
  size_t own = get_global_id(0);
#if KIND < 3
  REAL a[SIZE][SIZE], b[SIZE];
#pragma unroll
  for (int i = 0; i < SIZE; ++i) {
    b[i] = in[own + (SIZE * SIZE + i) * apart];
#pragma unroll
    for (int j = 0; j < SIZE; ++j)
      a[i][j] = in[own + (i * SIZE + (KIND == 1 && j > i ? 0 : j)) * apart];
  }
#pragma unroll
  for (int k = 0; k < SIZE; ++k) {
    REAL pivot = 1 / a[k][k];
    if (KIND == 2) {
      a[k][k] = 1;
#pragma unroll
      for (int j = 0; j < SIZE; ++j)
        a[k][j] *= pivot;
    }
#pragma unroll
    for (int i = 0; i < SIZE; ++i) {
      if (KIND == 2 ? i == k : i <= k)
        continue;
      REAL factor = KIND == 2 ? a[i][k] : a[i][k] * pivot;
      if (KIND == 2)
        a[i][k] = 0;
#pragma unroll
      for (int j = 0; j < SIZE; ++j)
        if (KIND == 2 || (KIND == 0 && j > k) || (KIND == 1 && j > k && j <= i))
          a[i][j] -= factor * (KIND == 1 ? a[j][k] : a[k][j]);
      b[i] -= factor * b[k];
    }
  }
#pragma unroll
  for (int i = SIZE - 1; i >= 0; --i) {
#pragma unroll
    for (int j = 0; j < SIZE; ++j)
      if (KIND != 2 && j > i)
        b[i] -= (KIND == 1 ? a[j][i] : a[i][j]) * b[j];
    if (KIND != 2)
      b[i] /= a[i][i];
    out[own + i * apart] = b[i];
#pragma unroll
    for (int j = 0; j < SIZE; ++j)
      if (KIND == 2)
        out[own + (SIZE + i * SIZE + j) * apart] = a[i][j];
  }
#else
  REAL f[27], density = 0, x = 0, y = 0, z = 0;
#pragma unroll
  for (int d = 0; d < 27; ++d) {
    int dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1;
    if (SIZE == 19 && abs(dx) + abs(dy) + abs(dz) == 3)
      continue;
    f[d] = in[own + d * apart + dx + 64 * dy + 4096 * dz];
    density += f[d], x += dx * f[d], y += dy * f[d], z += dz * f[d];
  }
  REAL inverse = 1 / density;
  x *= inverse, y *= inverse, z *= inverse;
  REAL squared = (REAL)1.5 * (x * x + y * y + z * z);
#pragma unroll
  for (int d = 0; d < 27; ++d) {
    int dx = d % 3 - 1, dy = d / 3 % 3 - 1, dz = d / 9 - 1, far = abs(dx) + abs(dy) + abs(dz);
    if (SIZE == 19 && far == 3)
      continue;
    REAL weight = far == 0 ? (REAL)(1.0 / 3) : far == 1 ? (REAL)(1.0 / 18) : far == 2 ? (REAL)(1.0 / 36) : (REAL)(1.0 / 216);
    REAL along = 3 * (dx * x + dy * y + dz * z);
    REAL even = weight * density * (1 + along + (REAL)0.5 * along * along - squared);
    out[own + d * apart] = f[d] + rate * (even - f[d]);
  }
#endif
}
