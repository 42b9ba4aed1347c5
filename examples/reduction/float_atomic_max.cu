// Maximum of a float array by compare-and-swap, and a running minimum kept as an ordered integer.
// An atomic retry loop with two exits, float bits compared as integers, contention inside a block.
#include "oriel_cuda.h"

__device__ float atomic_max_float(float *address, float value) {
  int *bits = reinterpret_cast<int *>(address);
  int seen = *bits;
  while (__int_as_float(seen) < value) {
    int before = atomicCAS(bits, seen, __float_as_int(value));
    if (before == seen)
      break;
    seen = before;
  }
  return __int_as_float(seen);
}

// Order-preserving map of floats to unsigned integers: flips all bits of negatives, the sign of the others.
__device__ __forceinline__ unsigned ordered_bits(float x) {
  unsigned bits = __float_as_uint(x);
  return bits ^ ((unsigned)((int)bits >> 31) | 0x80000000u);
}

extern "C" __global__ void float_atomic_max(const float *__restrict__ in, int n, float *maximum,
                                            unsigned *ordered_minimum) {
  __shared__ float block_maximum;
  if (threadIdx.x == 0)
    block_maximum = -FLT_MAX;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomic_max_float(&block_maximum, in[i]);
    atomicMin(ordered_minimum, ordered_bits(in[i]));
  }
  __syncthreads();
  if (threadIdx.x == 0)
    atomic_max_float(maximum, block_maximum);
}
