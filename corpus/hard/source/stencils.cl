// Stencils: a column of cells in registers, several steps of time in one pass.
//   REAL     float or double
//   REACH    cells on each side that a new value depends on
//   TIMES    steps of time
//   COUNT    cells that a work item writes
//   WIDE     1: neighbours in the other two dimensions as well, which are loaded for the first step of time

kernel void stencil(global REAL *out, global const REAL *restrict in, int row, int plane, REAL centre, REAL side, REAL far) {
  enum { ALL = COUNT + 2 * REACH * TIMES };
  size_t i = get_global_id(0) + get_global_id(1) * plane;
  REAL cell[ALL], next[ALL];
#pragma unroll
  for (int j = 0; j < ALL; ++j)
    cell[j] = in[i + j * row];
#pragma unroll
  for (int time = 0; time < TIMES; ++time) {
    int from = REACH * (time + 1), to = ALL - from;
#pragma unroll
    for (int j = 0; j < ALL; ++j)
      next[j] = cell[j];
#pragma unroll
    for (int j = REACH; j < ALL - REACH; ++j) {
      if (j < from || j >= to)
        continue;
      REAL sum = centre * cell[j];
#pragma unroll
      for (int distance = 1; distance <= REACH; ++distance) {
        REAL weight = distance == 1 ? side : far * (REAL)distance;
        sum += weight * (cell[j - distance] + cell[j + distance]);
        if (WIDE && time == 0)
          sum += weight * (in[i + j * row - distance] + in[i + j * row + distance] + in[i + j * row - distance * plane] +
                           in[i + j * row + distance * plane]);
      }
      next[j] = sum;
    }
#pragma unroll
    for (int j = 0; j < ALL; ++j)
      cell[j] = next[j];
  }
#pragma unroll
  for (int j = 0; j < COUNT; ++j)
    out[i + (j + REACH * TIMES) * row] = cell[j + REACH * TIMES];
}
