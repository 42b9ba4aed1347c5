// Merges two sorted arrays: each work-item finds its place on the merge path by a binary search, then merges serially.
// A search loop with a data-dependent exit, 64-bit keys, a serial merge of fixed length with bounds in each step.
#include "oriel_opencl.h"

#define ITEMS 8

__kernel void merge_path(__global const ulong *restrict a, int a_length, __global const ulong *restrict b,
                         int b_length, __global ulong *restrict out) {
  int diagonal = (int)get_global_id(0) * ITEMS;
  int total = a_length + b_length;
  if (diagonal >= total)
    return;
  int low = max(0, diagonal - b_length), high = min(diagonal, a_length);
  while (low < high) {
    int middle = (low + high) >> 1;
    if (a[middle] <= b[diagonal - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  int i = low, j = diagonal - low;
  for (int step = 0; step < ITEMS && diagonal + step < total; ++step) {
    int take_a = j >= b_length || (i < a_length && a[i] <= b[j]);
    out[diagonal + step] = take_a ? a[i++] : b[j++];
  }
}
