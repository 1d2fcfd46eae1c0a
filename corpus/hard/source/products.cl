// Products of small blocks of matrices: every work item has a tile of the result in registers.
//   REAL      float or double
//   ROWS, COLUMNS   the tile
//   DEPTH     products for each element that are unrolled
//   AHEAD     1: the loads of the next step stand before the products of this one, as in a pipelined loop

kernel void product(global REAL *c, global const REAL *restrict a, global const REAL *restrict b, int m, int n, int k) {
  int row = get_global_id(0) * ROWS, column = get_global_id(1) * COLUMNS;
  REAL sum[ROWS][COLUMNS] = {}, left[2][ROWS], right[2][COLUMNS];
  global const REAL *from = a + row, *with = b + column;
#pragma unroll
  for (int i = 0; i < ROWS; ++i)
    left[0][i] = from[i];
#pragma unroll
  for (int j = 0; j < COLUMNS; ++j)
    right[0][j] = with[j];
#pragma nounroll
  for (int outer = 0; outer < k; outer += DEPTH) {
#pragma unroll
    for (int inner = 0; inner < DEPTH; ++inner) {
      int now = AHEAD ? inner % 2 : 0, next = AHEAD ? 1 - now : 0;
      {
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
          left[next][i] = from[(inner + 1) * m + i];
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          right[next][j] = with[(inner + 1) * n + j];
      }
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
          sum[i][j] = fma(left[now][i], right[now][j], sum[i][j]);
    }
    from += DEPTH * m, with += DEPTH * n;
  }
#pragma unroll
  for (int i = 0; i < ROWS; ++i)
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j)
      c[(row + i) * n + column + j] += sum[i][j];
}
