// A product of matrices in blocks of four by four. The sums of a block stay in registers.
#include <stdio.h>

enum { SIZE = 48 };

static double a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];

static void block(int row, int column) {
  double sums[4][4] = {{0}};
  for (int k = 0; k < SIZE; k++)
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; i++)
#pragma clang loop unroll(full)
      for (int j = 0; j < 4; j++)
        sums[i][j] += a[row + i][k] * b[k][column + j];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      c[row + i][column + j] = sums[i][j];
}

int main(void) {
  for (int i = 0; i < SIZE; i++)
    for (int j = 0; j < SIZE; j++) {
      a[i][j] = (i * 7 + j * 3) % 11 - 5;
      b[i][j] = (i * 5 + j * 2) % 13 - 6;
    }
  for (int row = 0; row < SIZE; row += 4)
    for (int column = 0; column < SIZE; column += 4)
      block(row, column);
  double trace = 0, sum = 0;
  for (int i = 0; i < SIZE; i++) {
    trace += c[i][i];
    for (int j = 0; j < SIZE; j++)
      sum += c[i][j] * (i - j);
  }
  printf("%.1f %.1f\n", trace, sum);
  return 0;
}
