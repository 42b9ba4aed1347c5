// Sum and arg-max of a float array with warp shuffles; shared memory only between the warps of a block.
// Convergent shuffles in unrolled loops, a pair of values carried together, a second stage run by the first warp.
#include "oriel_cuda.h"

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int delta = 16; delta > 0; delta >>= 1)
    value += __shfl_down_sync(0xffffffffu, value, delta);
  return value;
}

extern "C" __global__ void warp_shuffle_sum(const float *__restrict__ in, int n, float *__restrict__ out) {
  __shared__ float warp_sums[32];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  float value = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    value += in[i];
  value = warp_sum(value);
  if (lane == 0)
    warp_sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = lane < blockDim.x >> 5 ? warp_sums[lane] : 0.0f;
    value = warp_sum(value);
    if (lane == 0)
      out[blockIdx.x] = value;
  }
}

extern "C" __global__ void warp_shuffle_argmax(const float *__restrict__ in, int n, float *__restrict__ best_value,
                                               int *__restrict__ best_index) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  float value = thread < n ? in[thread] : -INFINITY;
  int index = thread;
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes >>= 1) {
    float other_value = __shfl_xor_sync(0xffffffffu, value, lanes);
    int other_index = __shfl_xor_sync(0xffffffffu, index, lanes);
    // Ties go to the lower index, so that all lanes agree.
    bool take = other_value > value || (other_value == value && other_index < index);
    value = take ? other_value : value;
    index = take ? other_index : index;
  }
  if ((threadIdx.x & 31) == 0) {
    best_value[thread >> 5] = value;
    best_index[thread >> 5] = index;
  }
}
