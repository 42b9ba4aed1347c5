// Stream compaction: keeps the positive elements, with one atomic a warp instead of one an element.
// Ballot, population count of the lanes below, a leader's atomic broadcast by shuffle, any and all votes.
#include "oriel_cuda.h"

extern "C" __global__ void ballot_compaction(const int *__restrict__ in, int n, int *__restrict__ out, int *counter) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = i < n ? in[i] : 0;
  bool keep = i < n && value > 0;
  unsigned kept = __ballot_sync(0xffffffffu, keep);
  if (kept == 0)
    return;
  int lane = threadIdx.x & 31;
  int leader = __ffs(kept) - 1;
  int base = 0;
  if (lane == leader)
    base = atomicAdd(counter, __popc(kept));
  base = __shfl_sync(0xffffffffu, base, leader);
  if (keep)
    out[base + __popc(kept & __lanemask_lt())] = value;
}

// For each warp: 0 if no element is even, 1 if some are, 2 if all are.
extern "C" __global__ void warp_parity_class(const int *__restrict__ in, int n, int *__restrict__ classes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool even = i >= n || (in[i] & 1) == 0;
  int any = __any_sync(0xffffffffu, even);
  int all = __all_sync(0xffffffffu, even);
  if ((threadIdx.x & 31) == 0)
    classes[i >> 5] = any ? all + 1 : 0;
}
