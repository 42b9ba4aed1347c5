// Bitonic sort: one compare-exchange step over global memory, and all steps of a block in shared memory.
// Index arithmetic by exclusive or, a nest of loops with barriers, a minimum or maximum chosen by a bit.
#include "oriel_cuda.h"

extern "C" __global__ void bitonic_step(unsigned *data, unsigned n, unsigned stride, unsigned size) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned partner = i ^ stride;
  if (i >= n || partner <= i)
    return;
  unsigned a = data[i], b = data[partner];
  bool ascending = (i & size) == 0;
  if ((a > b) == ascending) {
    data[i] = b;
    data[partner] = a;
  }
}

extern "C" __global__ void __launch_bounds__(128) bitonic_block(unsigned *data) {
  __shared__ unsigned keys[256];
  unsigned base = blockIdx.x * 256, thread = threadIdx.x;
  keys[thread] = data[base + thread];
  keys[thread + 128] = data[base + thread + 128];
  for (unsigned size = 2; size <= 256; size <<= 1) {
    for (unsigned stride = size >> 1; stride > 0; stride >>= 1) {
      __syncthreads();
      unsigned low = 2 * thread - (thread & (stride - 1));
      unsigned a = keys[low], b = keys[low + stride];
      // Blocks alternate in direction, so that two neighbours form a bitonic sequence.
      bool ascending = size == 256 ? (blockIdx.x & 1) == 0 : (low & size) == 0;
      unsigned smaller = min(a, b), larger = max(a, b);
      keys[low] = ascending ? smaller : larger;
      keys[low + stride] = ascending ? larger : smaller;
    }
  }
  __syncthreads();
  data[base + thread] = keys[thread];
  data[base + thread + 128] = keys[thread + 128];
}
