// Small blocks, calls and many branches: an interpreter of a stack machine, and a sort of what it computes.
#include <stdint.h>
#include <stdio.h>

enum Operation { PUSH, ADD, MUL, XOR, SHIFT, SWAP, DUP, JUMP_IF, STORE, DEC, STOP };

typedef struct {
  int operation;
  int32_t value;
} Step;

static uint64_t memory[64];

__attribute__((noinline)) static uint64_t interpret(const Step *program, uint64_t input) {
  uint64_t stack[16];
  int top = 0, stored = 0;
  stack[0] = input;
  for (const Step *at = program;; at++)
    switch (at->operation) {
    case PUSH: stack[++top] = (uint64_t)at->value; break;
    case ADD: top--; stack[top] += stack[top + 1]; break;
    case MUL: top--; stack[top] *= stack[top + 1]; break;
    case XOR: top--; stack[top] ^= stack[top + 1]; break;
    case SHIFT: stack[top] ^= stack[top] >> at->value; break;
    case SWAP: {
      uint64_t other = stack[top - 1];
      stack[top - 1] = stack[top];
      stack[top] = other;
      break;
    }
    case DUP: stack[top + 1] = stack[top]; top++; break;
    case JUMP_IF:
      if (stack[top] != 0)
        at += at->value;
      break;
    case STORE: memory[stored++ % 64] = stack[top - 1]; break;
    case DEC: stack[top]--; break;
    default: return stack[top - 1];
    }
}

__attribute__((noinline)) static void sort(uint64_t *first, uint64_t *last) {
  while (last - first > 1) {
    uint64_t middle = first[(last - first) / 2], *low = first, *high = last - 1;
    while (low <= high) {
      while (*low < middle)
        low++;
      while (*high > middle)
        high--;
      if (low <= high) {
        uint64_t other = *low;
        *low++ = *high;
        *high-- = other;
      }
    }
    sort(first, high + 1);
    first = low;
  }
}

__attribute__((noinline)) static void print(int a, int b, int c) { printf("%d %d %d\n", a, b, c); }

// The calling convention assigns all its registers: none is left to allocate.
__attribute__((noinline)) static void print_constants(void) {
  print(1, 2, 3);
  print(4, 5, 6);
}

int main(void) {
  // Below the counter lies a number, which each turn multiplies, mixes and stores.
  const Step program[] = {{PUSH, 64}, {SWAP, 0}, {PUSH, 0x5bd1e995}, {MUL, 0},  {SHIFT, 29}, {PUSH, 77},     {ADD, 0},
                          {DUP, 0},   {SHIFT, 7}, {XOR, 0},           {SWAP, 0}, {STORE, 0},  {DEC, 0},       {JUMP_IF, -13},
                          {STOP, 0}};
  printf("%016llx\n", (unsigned long long)interpret(program, 12345));
  print_constants();
  sort(memory, memory + 64);
  for (int i = 0; i < 64; i++)
    printf("%016llx%c", (unsigned long long)memory[i], i % 4 == 3 ? '\n' : ' ');
  return 0;
}
