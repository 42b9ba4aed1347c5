// Prefix sum in one pass: each block publishes its sum, then looks back until a block knows its prefix.
// Release stores and acquire loads of a packed status word, fences without a clobber, a polling loop of a warp.
#include "oriel_cuda.h"

constexpr int THREADS = 128, EMPTY = 0, SUM = 1, PREFIX = 2;

// Value in the low half, state in the high half: one 64-bit access has both.
__device__ __forceinline__ void publish(unsigned long long *status, int state, int value) {
  unsigned long long word;
  asm("mov.b64 %0, {%1, %2};" : "=l"(word) : "r"(value), "r"(state));
#if __CUDA_ARCH__ >= 700
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(status), "l"(word) : "memory");
#else
  asm volatile("membar.gl;");
  asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(status), "l"(word) : "memory");
#endif
}

__device__ __forceinline__ void poll(const unsigned long long *status, int &state, int &value) {
#if __CUDA_ARCH__ >= 700
  asm volatile("{\n\t.reg .b64 word;\n\tld.acquire.gpu.global.u64 word, [%2];\n\tmov.b64 {%0, %1}, word;\n\t}"
               : "=r"(value), "=r"(state)
               : "l"(status)
               : "memory");
#else
  asm volatile("{\n\t.reg .b64 word;\n\tld.volatile.global.u64 word, [%2];\n\tmov.b64 {%0, %1}, word;\n\t}"
               : "=r"(value), "=r"(state)
               : "l"(status)
               : "memory");
  asm volatile("membar.gl;");
#endif
}

// The sum of all blocks before `block`, by one warp: 32 predecessors a step, the nearest on lane 0.
__device__ __forceinline__ int look_back(unsigned long long *status, int block, int lane) {
  int before = 0;
  for (int end = block - 1; end >= 0; end -= 32) {
    int at = end - lane, state = PREFIX, value = 0;
    if (at >= 0)
      do
        poll(status + at, state, value);
      while (state == EMPTY);
    unsigned complete = __ballot_sync(0xffffffffu, state == PREFIX);
    int last = complete ? __ffs((int)complete) - 1 : 31;
    int part = lane <= last ? value : 0;
#pragma unroll
    for (int delta = 16; delta > 0; delta /= 2)
      part += __shfl_xor_sync(0xffffffffu, part, delta);
    before += part;
    if (complete)
      break;
  }
  return before;
}

// Blocks take their number from a counter, so that those they wait for have started.
extern "C" __global__ void __launch_bounds__(THREADS)
    single_pass_scan(const int *__restrict__ in, int *__restrict__ out, unsigned long long *status, unsigned *ticket,
                     int n) {
  __shared__ int warp_sums[THREADS / 32], exclusive, number;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (threadIdx.x == 0)
    asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(number) : "l"(ticket) : "memory");
  __syncthreads();
  int block = number, i = block * THREADS + threadIdx.x, value = i < n ? in[i] : 0, sum = value;
#pragma unroll
  for (int delta = 1; delta < 32; delta *= 2) {
    int other = __shfl_up_sync(0xffffffffu, sum, delta);
    sum += lane >= delta ? other : 0;
  }
  if (lane == 31)
    warp_sums[warp] = sum;
  __syncthreads();
  int total = 0;
  for (int other = 0; other < THREADS / 32; ++other) {
    sum += other < warp ? warp_sums[other] : 0;
    total += warp_sums[other];
  }
  if (warp == 0) {
    if (lane == 0)
      publish(status + block, block == 0 ? PREFIX : SUM, total);
    int before = look_back(status, block, lane);
    if (lane == 0) {
      if (block > 0)
        publish(status + block, PREFIX, before + total);
      exclusive = before;
    }
  }
  __syncthreads();
  if (i < n)
    out[i] = exclusive + sum;
}
