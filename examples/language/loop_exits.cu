// Control flow: loops with several exits, nested loops left by a jump, continue chains, switch fall-through, a diamond.
// Critical edges, values that reach an exit over different paths, early returns before and inside loops.
#include "oriel_cuda.h"

// Index of the first (needle[0], needle[1]) in a row; -1 after a sentinel, -2 after the limit, -3 at the end.
extern "C" __global__ void find_pair(const int *__restrict__ rows, int columns, int count, int first, int second,
                                     int sentinel, int limit, int *__restrict__ out) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= count)
    return;
  const int *values = rows + row * columns;
  int result = -3;
  int sum = 0;
  for (int i = 0; i + 1 < columns; ++i) {
    int value = values[i];
    if (value == sentinel) {
      result = -1;
      break;
    }
    sum += value;
    if (sum > limit) {
      result = -2;
      break;
    }
    if (value != first)
      continue;
    if (values[i + 1] == second) {
      result = i;
      break;
    }
  }
  out[row] = result;
}

// The smallest a * b = target over a triangle of pairs, left from the inner loop.
extern "C" __global__ void find_factors(const int *__restrict__ targets, int2 *__restrict__ out, int n, int bound) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int target = targets[i];
  int a = 2, b = 0;
  for (; a < bound; ++a) {
    if (a * a > target)
      goto none;
    for (b = a; b < bound; ++b) {
      int product = a * b;
      if (product == target)
        goto found;
      if (product > target)
        break;
    }
  }
none:
  out[i] = make_int2(1, target);
  return;
found:
  out[i] = make_int2(a, b);
}

extern "C" __global__ void classify(const int *__restrict__ in, int *__restrict__ out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int value = in[i], score = 0;
    switch (value & 7) {
    case 0:
      score += 1;
      [[fallthrough]];
    case 1:
      score += value >> 3;
      [[fallthrough]];
    case 2:
      score ^= 0x55;
      break;
    case 5:
      if (value < 0)
        continue;
      score = value * 3;
      break;
    case 6:
      do
        score += value & 1, value >>= 1;
      while (value > 1 && score < 5);
      break;
    default:
      score = value > 0 ? value : -value;
    }
    out[i] = score;
  }
}
