// Fourier transforms of eight points with all values in registers, there and back.
#include <stdio.h>

typedef struct {
  double re, im;
} Complex;

static Complex add(Complex a, Complex b) { return (Complex){a.re + b.re, a.im + b.im}; }
static Complex sub(Complex a, Complex b) { return (Complex){a.re - b.re, a.im - b.im}; }
static Complex mul(Complex a, Complex b) {
  return (Complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__attribute__((noinline)) static void transform(Complex *v, int sign) {
  const double half = 0.70710678118654752440;
  const Complex factors[4] = {{1, 0}, {half, sign * half}, {0, sign}, {-half, sign * half}};
  Complex even[4], odd[4];
  for (int i = 0; i < 4; i++) {
    even[i] = add(v[i], v[i + 4]);
    odd[i] = mul(sub(v[i], v[i + 4]), factors[i]);
  }
  Complex *halves[2] = {even, odd};
  for (int h = 0; h < 2; h++) {
    Complex *x = halves[h];
    Complex a = add(x[0], x[2]), b = sub(x[0], x[2]), c = add(x[1], x[3]), d = mul(sub(x[1], x[3]), factors[2]);
    v[h] = add(a, c);
    v[h + 2] = add(b, d);
    v[h + 4] = sub(a, c);
    v[h + 6] = sub(b, d);
  }
}

int main(void) {
  Complex v[8];
  for (int i = 0; i < 8; i++)
    v[i] = (Complex){i * i % 7, (i * 3 + 1) % 5};
  for (int round = 0; round < 100; round++) {
    transform(v, -1);
    if (round == 0)
      for (int i = 0; i < 8; i++)
        printf("%.6f %.6f\n", v[i].re, v[i].im);
    transform(v, 1);
    for (int i = 0; i < 8; i++)
      v[i] = (Complex){v[i].re / 8, v[i].im / 8};
  }
  for (int i = 0; i < 8; i++)
    printf("%.4f %.4f\n", v[i].re, v[i].im);
  return 0;
}
