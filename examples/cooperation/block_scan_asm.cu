// Prefix sums of a block, running maxima and 64-bit sums of a warp; each step of a scan is one asm statement.
// A shuffle that also writes a predicate and the addition under it, read-write and early-clobber operands.
#include "oriel_cuda.h"

constexpr int ITEMS = 4, THREADS = 128, WARPS = THREADS / 32;

__device__ __forceinline__ int step_add(int value, int delta) {
  asm volatile("{\n\t"
               ".reg .s32 other;\n\t"
               ".reg .pred has;\n\t"
               "shfl.sync.up.b32 other|has, %0, %1, 0, -1;\n\t"
               "@has add.s32 %0, %0, other;\n\t"
               "}"
               : "+r"(value)
               : "r"(delta));
  return value;
}

__device__ __forceinline__ float step_max(float value, int delta) {
  float result;
  asm volatile("{\n\t"
               ".reg .f32 other;\n\t"
               ".reg .pred has;\n\t"
               "shfl.sync.up.b32 other|has, %1, %2, 0, -1;\n\t"
               "mov.f32 %0, %1;\n\t"
               "@has max.f32 %0, %1, other;\n\t"
               "}"
               : "=&f"(result)
               : "f"(value), "r"(delta));
  return result;
}

// Two sums in one register pair: both halves move in one statement, the add is 64 bits wide.
__device__ __forceinline__ unsigned long long step_add_wide(unsigned long long value, int delta) {
  asm volatile("{\n\t"
               ".reg .u32 low, high;\n\t"
               ".reg .u64 other;\n\t"
               ".reg .pred has;\n\t"
               "mov.b64 {low, high}, %0;\n\t"
               "shfl.sync.up.b32 low|has, low, %1, 0, -1;\n\t"
               "shfl.sync.up.b32 high|has, high, %1, 0, -1;\n\t"
               "mov.b64 other, {low, high};\n\t"
               "@has add.u64 %0, %0, other;\n\t"
               "}"
               : "+l"(value)
               : "r"(delta));
  return value;
}

// Exclusive sum of the block's threads; `total` gets the sum of all.
__device__ __forceinline__ int exclusive_sum(int value, int *warp_sums, int &total) {
  int inclusive = value;
#pragma unroll
  for (int delta = 1; delta < 32; delta *= 2)
    inclusive = step_add(inclusive, delta);
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (lane == 31)
    warp_sums[warp] = inclusive;
  __syncthreads();
  int before = 0;
  total = 0;
#pragma unroll
  for (int other = 0; other < WARPS; ++other) {
    before = warp == other ? total : before;
    total += warp_sums[other];
  }
  return before + inclusive - value;
}

// Exclusive sums in each block, and the block's sum.
extern "C" __global__ void __launch_bounds__(THREADS)
    block_exclusive_sum(const int *__restrict__ in, int *__restrict__ out, int *__restrict__ sums, int n) {
  __shared__ int warp_sums[WARPS];
  int first = (blockIdx.x * THREADS + threadIdx.x) * ITEMS, items[ITEMS], mine = 0, total;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    items[item] = first + item < n ? in[first + item] : 0;
    mine += items[item];
  }
  int running = exclusive_sum(mine, warp_sums, total);
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    if (first + item < n)
      out[first + item] = running;
    running += items[item];
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = total;
}

// Running maximum over segments of a warp, and a running 64-bit sum of squares beside it.
extern "C" __global__ void warp_running_extremes(const float *__restrict__ in, float *__restrict__ largest,
                                                 unsigned long long *__restrict__ squares) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = in[i];
  unsigned long long scaled = (unsigned long long)(value * value * 4294967296.0f);
#pragma unroll
  for (int delta = 1; delta < 32; delta *= 2) {
    value = step_max(value, delta);
    scaled = step_add_wide(scaled, delta);
  }
  largest[i] = value;
  squares[i] = scaled;
}
