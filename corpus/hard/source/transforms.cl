// Fourier and cosine transforms in registers.
//   REAL     float or double
//   COUNT    points, a power of two
//   COSINE   1: a cosine transform of the rows and columns of a square block of COUNT, 0: a Fourier transform

#define PI 3.14159265358979323846

// The compiler computes these series: all angles are constants, between 0 and a turn.
double cosine_of(double angle) {
  double x = angle - PI, term = 1, sum = 0;
#pragma unroll
  for (int i = 0; i < 14; ++i) {
    sum += term;
    term *= -x * x / ((2 * i + 1) * (2 * i + 2));
  }
  return -sum;
}
double sine_of(double angle) { return -cosine_of(angle + PI / 2); }

void fourier(REAL *x, REAL *y) {
#pragma unroll
  for (int apart = COUNT / 2; apart >= 1; apart /= 2)
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
      if ((i & apart) == 0) {
        int j = i + apart;
        REAL a = x[i] - x[j], b = y[i] - y[j];
        x[i] += x[j], y[i] += y[j];
        REAL c = (REAL)cosine_of(PI * (i % apart) / apart), s = (REAL)-sine_of(PI * (i % apart) / apart);
        x[j] = a * c - b * s, y[j] = a * s + b * c;
      }
}

void cosine(REAL *x) {
  REAL y[COUNT];
#pragma unroll
  for (int k = 0; k < COUNT; ++k) {
    REAL sum = 0;
#pragma unroll
    for (int i = 0; i < COUNT / 2; ++i) {
      REAL pair = k % 2 ? x[i] - x[COUNT - 1 - i] : x[i] + x[COUNT - 1 - i];
      sum += pair * (REAL)cosine_of(PI * ((2 * i + 1) * k % (4 * COUNT)) / (2 * COUNT));
    }
    y[k] = sum;
  }
#pragma unroll
  for (int k = 0; k < COUNT; ++k)
    x[k] = y[k];
}

kernel void transform(global REAL *out, global const REAL *restrict in, int stride) {
  size_t own = get_global_id(0);
#if COSINE
  REAL block[COUNT][COUNT], line[COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
      line[j] = in[own + (i * COUNT + j) * stride];
    cosine(line);
#pragma unroll
    for (int j = 0; j < COUNT; ++j)
      block[j][i] = line[j];
  }
#pragma unroll
  for (int j = 0; j < COUNT; ++j) {
    cosine(block[j]);
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
      out[own + (i * COUNT + j) * stride] = block[j][i];
  }
#else
  REAL x[COUNT], y[COUNT];
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    x[i] = in[own + 2 * i * stride], y[i] = in[own + (2 * i + 1) * stride];
  fourier(x, y);
#pragma unroll
  for (int i = 0; i < COUNT; ++i)
    out[own + 2 * i * stride] = x[i], out[own + (2 * i + 1) * stride] = y[i];
#endif
}
