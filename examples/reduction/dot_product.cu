// Dot product: each block reduces its share in a shared memory tree, the blocks meet in one atomic add.
// A grid-stride loop, a barrier inside a loop, the last warp's steps unrolled by a template over the block size.
#include "oriel_cuda.h"

template <int BLOCK> __device__ __forceinline__ float block_tree_sum(float value, float *scratch) {
  int thread = threadIdx.x;
  scratch[thread] = value;
  __syncthreads();
#pragma unroll
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (thread < half)
      scratch[thread] += scratch[thread + half];
    __syncthreads();
  }
  return scratch[0];
}

extern "C" __global__ void __launch_bounds__(128)
    dot_product(const float *__restrict__ x, const float *__restrict__ y, int n, float *result) {
  __shared__ float scratch[128];
  float sum = 0.0f;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128)
    sum = fmaf(x[i], y[i], sum);
  sum = block_tree_sum<128>(sum, scratch);
  if (threadIdx.x == 0)
    atomicAdd(result, sum);
}
