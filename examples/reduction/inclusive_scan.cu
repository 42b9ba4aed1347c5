// Inclusive prefix sum of integers: a scan in each block, a scan of the block sums, and the add that joins them.
// Shuffles with a predicated add, three kernels that depend on each other through memory.
#include "oriel_cuda.h"

__device__ __forceinline__ int warp_inclusive_scan(int value, int lane) {
#pragma unroll
  for (int delta = 1; delta < 32; delta <<= 1) {
    int below = __shfl_up_sync(0xffffffffu, value, delta);
    if (lane >= delta)
      value += below;
  }
  return value;
}

extern "C" __global__ void scan_blocks(const int *__restrict__ in, int *__restrict__ out,
                                       int *__restrict__ block_sums, int n) {
  __shared__ int warp_sums[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int value = warp_inclusive_scan(i < n ? in[i] : 0, lane);
  if (lane == 31)
    warp_sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    int sum = lane < blockDim.x / 32 ? warp_sums[lane] : 0;
    warp_sums[lane] = warp_inclusive_scan(sum, lane);
  }
  __syncthreads();
  if (warp > 0)
    value += warp_sums[warp - 1];
  if (i < n)
    out[i] = value;
  if (threadIdx.x == blockDim.x - 1)
    block_sums[blockIdx.x] = value;
}

extern "C" __global__ void scan_add(int *__restrict__ out, const int *__restrict__ scanned_block_sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x > 0 && i < n)
    out[i] += scanned_block_sums[blockIdx.x - 1];
}
