// One pass of a least significant digit radix sort, four bits a pass: digit counts, their scan, stable scatter.
// Ballots that rank equal digits within a warp, a loop over digits, three dependent kernels.
#include "oriel_cuda.h"

constexpr int DIGITS = 16;

// Counts are digit-major, so that their exclusive scan gives each block its place among equal digits.
extern "C" __global__ void radix_count(const unsigned *__restrict__ keys, int n, int shift,
                                       unsigned *__restrict__ counts) {
  __shared__ unsigned local_counts[DIGITS];
  if (threadIdx.x < DIGITS)
    local_counts[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&local_counts[keys[i] >> shift & (DIGITS - 1)], 1u);
  __syncthreads();
  if (threadIdx.x < DIGITS)
    counts[threadIdx.x * gridDim.x + blockIdx.x] = local_counts[threadIdx.x];
}

// One warp scans all counts in place, with a carry from one group of 32 to the next.
extern "C" __global__ void radix_scan(unsigned *counts, int n) {
  int lane = threadIdx.x;
  unsigned carry = 0;
  for (int base = 0; base < n; base += 32) {
    unsigned count = base + lane < n ? counts[base + lane] : 0;
    unsigned sum = count;
#pragma unroll
    for (int delta = 1; delta < 32; delta *= 2) {
      unsigned below = __shfl_up_sync(0xffffffffu, (int)sum, delta);
      if (lane >= delta)
        sum += below;
    }
    if (base + lane < n)
      counts[base + lane] = carry + sum - count;
    carry += __shfl_sync(0xffffffffu, (int)sum, 31);
  }
}

extern "C" __global__ void __launch_bounds__(128)
    radix_scatter(const unsigned *__restrict__ keys, int n, int shift, const unsigned *__restrict__ offsets,
                  unsigned *__restrict__ sorted) {
  __shared__ unsigned warp_counts[4][DIGITS];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  unsigned key = i < n ? keys[i] : 0;
  unsigned digit = i < n ? key >> shift & (DIGITS - 1) : DIGITS;
  unsigned rank = 0;
  for (unsigned d = 0; d < DIGITS; ++d) {
    unsigned same = __ballot_sync(0xffffffffu, digit == d);
    if (digit == d)
      rank = __popc(same & __lanemask_lt());
    if (lane == 0)
      warp_counts[warp][d] = __popc(same);
  }
  __syncthreads();
  if (i >= n)
    return;
  for (int w = 0; w < warp; ++w)
    rank += warp_counts[w][digit];
  sorted[offsets[digit * gridDim.x + blockIdx.x] + rank] = key;
}
