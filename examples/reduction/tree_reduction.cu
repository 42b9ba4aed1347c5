// Sum, minimum and maximum of an integer array in dynamic shared memory, with the block size known at run time only.
// Three scratch arrays carved out of one extern array; a two-level reduction over two launches.
#include "oriel_cuda.h"

extern __shared__ int scratch[];

extern "C" __global__ void tree_reduction(const int *__restrict__ in, int n, int4 *__restrict__ out) {
  int *sums = scratch;
  int *minima = scratch + blockDim.x;
  int *maxima = scratch + 2 * blockDim.x;
  int thread = threadIdx.x;
  int i = blockIdx.x * (2 * blockDim.x) + thread;

  // Two elements a thread: half of the threads would idle in the first step otherwise.
  int first = i < n ? in[i] : 0;
  int second = i + blockDim.x < n ? in[i + blockDim.x] : 0;
  sums[thread] = first + second;
  minima[thread] = i < n ? (i + blockDim.x < n ? min(first, second) : first) : __INT_MAX__;
  maxima[thread] = i < n ? (i + blockDim.x < n ? max(first, second) : first) : -__INT_MAX__ - 1;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
    if (thread < half) {
      sums[thread] += sums[thread + half];
      minima[thread] = min(minima[thread], minima[thread + half]);
      maxima[thread] = max(maxima[thread], maxima[thread + half]);
    }
    __syncthreads();
  }
  if (thread == 0)
    out[blockIdx.x] = make_int4(sums[0], minima[0], maxima[0], min(n - (int)(i), (int)(2 * blockDim.x)));
}
