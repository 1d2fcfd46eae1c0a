// Two hash functions of the same words, interleaved step by step as password crackers do: their steps depend on
// nothing but themselves, so that there are many orders.
//   FIRST, SECOND   0: none, 1: MD4, 2: MD5, 3: SHA-1, 4: SHA-256, 5: BLAKE2s
//   STEPS           steps of each (16 to 80)
//   LANES           messages that one work item hashes at once

#define ROTATE(x, n) rotate((uint)(x), (uint)(n))

// MD4 and MD5 differ in constants and in one addition.
uint md_word(int kind, int step) {
  int turn = step / 16, at = step % 16;
  if (kind == 1)
    return turn == 0 ? at : turn == 1 ? (at % 4) * 4 + at / 4 : ((at & 1) << 3) | ((at & 2) << 1) | ((at & 4) >> 1) | (at >> 3);
  return turn == 0 ? at : turn == 1 ? (5 * at + 1) % 16 : turn == 2 ? (3 * at + 5) % 16 : (7 * at) % 16;
}
uint md_mix(int kind, int step, uint b, uint c, uint d) {
  int turn = step / 16;
  if (turn == 0)
    return bitselect(d, c, b);
  if (kind == 1)
    return turn == 1 ? (b & c) | (d & (b | c)) : b ^ c ^ d;
  return turn == 1 ? bitselect(c, b, d) : turn == 2 ? b ^ c ^ d : c ^ (b | ~d);
}
constant uchar md4_turns[] = {3, 7, 11, 19, 3, 5, 9, 13, 3, 9, 11, 15, 3, 9, 11, 15};
constant uchar md5_turns[] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
void md_step(int kind, int step, uint *s, const uint *m) {
  uint sum = s[0] + md_mix(kind, step, s[1], s[2], s[3]) + m[md_word(kind, step)];
  // The constants of MD5 are sines; any odd multiples do for the shape of the code.
  sum += kind == 2 ? 0xd76aa478u + 0x9e3779b9u * step : step < 16 ? 0u : step < 32 ? 0x5a827999u : 0x6ed9eba1u;
  uchar turn = kind == 1 ? md4_turns[(step / 16 % 4) * 4 + step % 4] : md5_turns[(step / 16 % 4) * 4 + step % 4];
  uint next = ROTATE(sum, turn) + (kind == 2 ? s[1] : 0u);
  s[0] = s[3], s[3] = s[2], s[2] = s[1], s[1] = next;
}

void sha1_step(int step, uint *s, uint *m) {
  if (step >= 16)
    m[step % 16] = ROTATE(m[(step - 3) % 16] ^ m[(step - 8) % 16] ^ m[(step - 14) % 16] ^ m[step % 16], 1);
  uint mixed = step < 20 ? bitselect(s[3], s[2], s[1]) : step < 40 || step >= 60 ? s[1] ^ s[2] ^ s[3] : (s[1] & s[2]) | (s[3] & (s[1] | s[2]));
  uint constants = step < 20 ? 0x5a827999u : step < 40 ? 0x6ed9eba1u : step < 60 ? 0x8f1bbcdcu : 0xca62c1d6u;
  uint next = ROTATE(s[0], 5) + mixed + s[4] + constants + m[step % 16];
  s[4] = s[3], s[3] = s[2], s[2] = ROTATE(s[1], 30), s[1] = s[0], s[0] = next;
}

void sha256_step(int step, uint *s, uint *m) {
  if (step >= 16) {
    uint a = m[(step - 15) % 16], b = m[(step - 2) % 16];
    m[step % 16] += (ROTATE(a, 25) ^ ROTATE(a, 14) ^ (a >> 3)) + m[(step - 7) % 16] + (ROTATE(b, 15) ^ ROTATE(b, 13) ^ (b >> 10));
  }
  uint first = s[7] + (ROTATE(s[4], 26) ^ ROTATE(s[4], 21) ^ ROTATE(s[4], 7)) + bitselect(s[6], s[5], s[4]) + m[step % 16] + 0x428a2f98u + 0x9e3779b9u * step;
  uint second = (ROTATE(s[0], 30) ^ ROTATE(s[0], 19) ^ ROTATE(s[0], 10)) + bitselect(s[0], s[2], s[0] ^ s[1]);
#pragma unroll
  for (int i = 7; i > 0; --i)
    s[i] = s[i - 1] + (i == 4 ? first : 0u);
  s[0] = first + second;
}

void blake_mix(uint *s, int a, int b, int c, int d, uint x, uint y) {
  s[a] += s[b] + x, s[d] = ROTATE(s[d] ^ s[a], 16);
  s[c] += s[d], s[b] = ROTATE(s[b] ^ s[c], 20);
  s[a] += s[b] + y, s[d] = ROTATE(s[d] ^ s[a], 24);
  s[c] += s[d], s[b] = ROTATE(s[b] ^ s[c], 25);
}
// Eight steps are one round.
void blake_step(int step, uint *s, const uint *m) {
  int at = step % 8, turn = at < 4 ? 0 : 1, base = at % 4;
  uint x = m[(2 * at + 5 * (step / 8)) % 16], y = m[(2 * at + 1 + 5 * (step / 8)) % 16];
  blake_mix(s, base, 4 + (base + turn) % 4, 8 + (base + 2 * turn) % 4, 12 + (base + 3 * turn) % 4, x, y);
}

void step(int kind, int number, uint *s, uint *m) {
  if (kind == 1 || kind == 2)
    md_step(kind, kind == 1 ? number % 48 : number % 64, s, m);
  if (kind == 3)
    sha1_step(number, s, m);
  if (kind == 4)
    sha256_step(number, s, m);
  if (kind == 5)
    blake_step(number, s, m);
}

kernel void pair(global uint *out, global const uint *in, uint salt) {
  size_t i = get_global_id(0);
  uint first[LANES][16], second[LANES][16], one[LANES][16], two[LANES][16];
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane)
#pragma unroll
    for (int word = 0; word < 16; ++word) {
      first[lane][word] = second[lane][word] = in[i * 16 + word] ^ (lane * salt);
      one[lane][word] = 0x67452301u + 0x11111111u * word;
      two[lane][word] = 0xefcdab89u - 0x01010101u * word;
    }
#pragma unroll
  for (int number = 0; number < STEPS; ++number)
#pragma unroll
    for (int lane = 0; lane < LANES; ++lane) {
      step(FIRST, number, one[lane], first[lane]);
      step(SECOND, number, two[lane], second[lane]);
    }
#pragma unroll
  for (int lane = 0; lane < LANES; ++lane)
#pragma unroll
    for (int word = 0; word < 8; ++word)
      out[(i * LANES + lane) * 8 + word] = one[lane][word] + two[lane][word];
}
