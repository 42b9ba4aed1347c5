// Sorts a block's keys by one digit: ranks from match.any, or from ballots, and counters for each warp.
// Matches, votes, lane masks and warp barriers in inline PTX between shared accesses that must keep their order.
#include "oriel_cuda.h"

constexpr int BITS = 4, DIGITS = 1 << BITS, THREADS = 128, WARPS = THREADS / 32, ITEMS = 3, ALL = -1;

// A special register that never changes: without `volatile` the compiler may read it once for all.
__device__ __forceinline__ unsigned lanes_below() {
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

// The lanes of the warp that hold the same digit.
__device__ __forceinline__ unsigned equals(unsigned digit) {
  unsigned same;
#if __CUDA_ARCH__ >= 700
  asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(same) : "r"(digit), "r"(ALL));
#else
  same = ALL;
#pragma unroll
  for (int bit = 0; bit < BITS; ++bit) {
    unsigned set;
    asm volatile("{\n\t"
                 ".reg .pred is;\n\t"
                 "and.b32 %0, %1, %2;\n\t"
                 "setp.ne.u32 is, %0, 0;\n\t"
                 "vote.sync.ballot.b32 %0, is, -1;\n\t"
                 "@!is not.b32 %0, %0;\n\t"
                 "}"
                 : "=&r"(set)
                 : "r"(digit), "r"(1 << bit));
    same &= set;
  }
#endif
  return same;
}

// Ranks the items of a warp one after the other; the first lane of each group of equals counts for all of them.
__device__ __forceinline__ void rank_in_warp(const unsigned (&digits)[ITEMS], unsigned (&ranks)[ITEMS],
                                             unsigned *counters) {
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    unsigned same = equals(digits[item]);
    int first = __ffs(same) - 1;
    unsigned before = 0;
    if ((same & lanes_below()) == 0) {
      before = counters[digits[item]];
      counters[digits[item]] = before + __popc(same);
    }
    before = (unsigned)__shfl_sync(ALL, (int)before, first);
    asm volatile("bar.warp.sync %0;" ::"r"(ALL));
    ranks[item] = before + __popc(same & lanes_below());
  }
}

// Sorts the block's items by one digit: to `keys` in that order, to `histogram` how many there are of each digit.
extern "C" __global__ void __launch_bounds__(THREADS)
    rank_and_scatter(const unsigned *__restrict__ in, unsigned *__restrict__ keys, unsigned *__restrict__ histogram,
                     int shift) {
  __shared__ unsigned counters[WARPS][DIGITS], starts[DIGITS];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, block = blockIdx.x * THREADS * ITEMS;
  for (int i = threadIdx.x; i < WARPS * DIGITS; i += THREADS)
    counters[i / DIGITS][i % DIGITS] = 0;
  __syncthreads();
  unsigned items[ITEMS], digits[ITEMS], ranks[ITEMS];
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    items[item] = in[block + (warp * ITEMS + item) * 32 + lane];
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(digits[item]) : "r"(items[item]), "r"(shift), "n"(BITS));
  }
  rank_in_warp(digits, ranks, counters[warp]);
  __syncthreads();
  if (threadIdx.x < DIGITS) {
    unsigned sum = 0;
    for (int other = 0; other < WARPS; ++other) {
      unsigned count = counters[other][threadIdx.x];
      counters[other][threadIdx.x] = sum;
      sum += count;
    }
    histogram[blockIdx.x * DIGITS + threadIdx.x] = sum;
    unsigned start = sum;
#pragma unroll
    for (int delta = 1; delta < DIGITS; delta *= 2)
      asm volatile("{\n\t.reg .u32 r;\n\t.reg .pred p;\n\tshfl.sync.up.b32 r|p, %0, %1, 0x1000, 0xffff;\n\t@p add.u32 "
                   "%0, %0, r;\n\t}"
                   : "+r"(start)
                   : "r"(delta));
    starts[threadIdx.x] = start - sum;
  }
  __syncthreads();
#pragma unroll
  for (int item = 0; item < ITEMS; ++item)
    keys[block + starts[digits[item]] + counters[warp][digits[item]] + ranks[item]] = items[item];
}
