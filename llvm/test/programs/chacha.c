// A stream cipher: many values are live at once, and there are no branches.
#include <stdint.h>
#include <stdio.h>

static uint32_t turn(uint32_t x, int by) { return x << by | x >> (32 - by); }

#define QUARTER(a, b, c, d)                                                                                            \
  a += b, d = turn(d ^ a, 16), c += d, b = turn(b ^ c, 12), a += b, d = turn(d ^ a, 8), c += d, b = turn(b ^ c, 7)

static void block(uint32_t out[16], const uint32_t in[16]) {
  uint32_t x[16];
  for (int i = 0; i < 16; i++)
    x[i] = in[i];
  for (int round = 0; round < 10; round++) {
    QUARTER(x[0], x[4], x[8], x[12]);
    QUARTER(x[1], x[5], x[9], x[13]);
    QUARTER(x[2], x[6], x[10], x[14]);
    QUARTER(x[3], x[7], x[11], x[15]);
    QUARTER(x[0], x[5], x[10], x[15]);
    QUARTER(x[1], x[6], x[11], x[12]);
    QUARTER(x[2], x[7], x[8], x[13]);
    QUARTER(x[3], x[4], x[9], x[14]);
  }
  for (int i = 0; i < 16; i++)
    out[i] = x[i] + in[i];
}

int main(void) {
  uint32_t state[16], out[16], sum = 0;
  for (uint32_t i = 0; i < 16; i++)
    state[i] = i * 0x9e3779b9u + 1;
  for (int n = 0; n < 1000; n++) {
    block(out, state);
    for (int i = 0; i < 16; i++)
      sum = turn(sum, 3) ^ out[i];
    state[12]++;
  }
  for (int i = 0; i < 16; i++)
    printf("%08x%c", out[i], i % 8 == 7 ? '\n' : ' ');
  printf("%08x\n", sum);
  return 0;
}
