// Each thread sorts its own segment by quicksort with an explicit stack, and by insertion sort when it is short.
// A local array indexed by a variable (local memory), nested loops with several exits, highly divergent control flow.
#include "oriel_cuda.h"

constexpr int SEGMENT = 24;

extern "C" __global__ void quicksort_segments(int *data, int n) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  int first = thread * SEGMENT;
  if (first >= n)
    return;
  int stack[2 * SEGMENT];
  int depth = 0;
  stack[depth++] = first;
  stack[depth++] = min(first + SEGMENT, n) - 1;
  while (depth > 0) {
    int high = stack[--depth], low = stack[--depth];
    if (high - low < 6) {
      for (int i = low + 1; i <= high; ++i) {
        int value = data[i], j = i - 1;
        for (; j >= low && data[j] > value; --j)
          data[j + 1] = data[j];
        data[j + 1] = value;
      }
      continue;
    }
    int pivot = data[(low + high) / 2];
    int i = low - 1, j = high + 1;
    while (true) {
      do
        ++i;
      while (data[i] < pivot);
      do
        --j;
      while (data[j] > pivot);
      if (i >= j)
        break;
      int swap = data[i];
      data[i] = data[j];
      data[j] = swap;
    }
    stack[depth++] = low;
    stack[depth++] = j;
    stack[depth++] = j + 1;
    stack[depth++] = high;
  }
}
