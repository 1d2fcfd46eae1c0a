// Sorting networks in registers, as in the block sorts and merges of primitive libraries.
//   KEY      type of the keys
//   COUNT    keys of a work item, a power of two
//   VALUES   1: each key carries a value
//   NETWORK  0: bitonic sort, 1: odd-even merge sort, 2: one bitonic merge of two sorted halves
//   LISTS    lists that one work item sorts at once

#if VALUES
#define EXCHANGE(i, j)                                                                                                 \
  {                                                                                                                    \
    bool is_swapped = key[i] > key[j];                                                                                 \
    KEY low = is_swapped ? key[j] : key[i], high = is_swapped ? key[i] : key[j];                                       \
    uint first = is_swapped ? value[j] : value[i], second = is_swapped ? value[i] : value[j];                          \
    key[i] = low, key[j] = high, value[i] = first, value[j] = second;                                                  \
  }
#else
#define EXCHANGE(i, j)                                                                                                 \
  {                                                                                                                    \
    KEY low = min(key[i], key[j]), high = max(key[i], key[j]);                                                         \
    key[i] = low, key[j] = high;                                                                                       \
  }
#endif

void sort(KEY *key, uint *value) {
  if (NETWORK == 1) {
#pragma unroll
    for (int p = 1; p < COUNT; p *= 2)
#pragma unroll
      for (int k = p; k >= 1; k /= 2)
#pragma unroll
        for (int j = k % p; j + k < COUNT; j += 2 * k)
#pragma unroll
          for (int i = 0; i < k; ++i)
            if (i + j + k < COUNT && (i + j) / (2 * p) == (i + j + k) / (2 * p))
              EXCHANGE(i + j, i + j + k)
    return;
  }
#pragma unroll
  for (int size = NETWORK == 2 ? COUNT : 2; size <= COUNT; size *= 2)
#pragma unroll
    for (int apart = size / 2; apart > 0; apart /= 2)
#pragma unroll
      for (int i = 0; i < COUNT; ++i)
        if ((i & apart) == 0) {
          if ((i & size) == 0)
            EXCHANGE(i, i + apart)
          else
            EXCHANGE(i + apart, i)
        }
}

kernel void sort_lists(global KEY *keys, global uint *values) {
  size_t base = get_global_id(0) * COUNT * LISTS;
  KEY key[LISTS][COUNT];
  uint value[LISTS][COUNT];
#pragma unroll
  for (int list = 0; list < LISTS; ++list)
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      key[list][i] = keys[base + list * COUNT + i];
      if (VALUES)
        value[list][i] = values[base + list * COUNT + i];
    }
#pragma unroll
  for (int list = 0; list < LISTS; ++list)
    sort(key[list], value[list]);
#pragma unroll
  for (int list = 0; list < LISTS; ++list)
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      keys[base + list * COUNT + i] = key[list][i];
      if (VALUES)
        values[base + list * COUNT + i] = value[list][i];
    }
}
