// A producer warp fills a ring of shared tiles, consumer warps wait for each tile and give it back.
// mbarrier init, arrive and try_wait loops with labels, bulk copies on sm_90, asynchronous copies on sm_80.
#include "oriel_cuda.h"

constexpr int STAGES = 3, TILE = 128, CONSUMERS = 64, THREADS = CONSUMERS + 32;

struct __align__(8) ring {
  unsigned long long full[STAGES], free[STAGES];
};

__device__ __forceinline__ void init(unsigned barrier, unsigned count) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
#else
  (void)barrier, (void)count;
#endif
}

__device__ __forceinline__ void arrive(unsigned barrier) {
#if __CUDA_ARCH__ >= 800
  asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared.b64 state, [%0];\n\t}" ::"r"(barrier) : "memory");
#else
  (void)barrier;
#endif
}

// Waits until the phase of the given parity is complete.
__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n\t"
               ".reg .pred complete;\n\t"
               "wait_again:\n\t"
               "mbarrier.try_wait.parity.shared::cta.b64 complete, [%0], %1, %2;\n\t"
               "@complete bra.uni waited;\n\t"
               "bra.uni wait_again;\n\t"
               "waited:\n\t"
               "}" ::"r"(barrier),
               "r"(parity), "n"(10000)
               : "memory");
#elif __CUDA_ARCH__ >= 800
  unsigned complete;
  do
    asm volatile("{\n\t"
                 ".reg .pred p;\n\t"
                 "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t"
                 "}"
                 : "=r"(complete)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  while (!complete);
#else
  (void)barrier, (void)parity;
#endif
}

// Fills a tile and lets `barrier` complete when all bytes are there.
__device__ __forceinline__ void fill(float *tile, const float *from, unsigned barrier, int lane) {
#if __CUDA_ARCH__ >= 900
  if (lane == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(TILE * 4) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     __cvta_generic_to_shared(tile)),
                 "l"(from), "n"(TILE * 4), "r"(barrier)
                 : "memory");
  }
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(__cvta_generic_to_shared(tile + lane * 4)),
               "l"(from + lane * 4)
               : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
#else
  for (int i = lane; i < TILE; i += 32)
    tile[i] = from[i];
  (void)barrier;
#endif
}

// Each block sums every second element of its tiles with the one 64 places on; `out` has a running sum a thread and
// tile.
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_tiles(const float *__restrict__ in, float *__restrict__ out, int tiles) {
  __shared__ __align__(128) float tile[STAGES][TILE];
  __shared__ ring barriers;
  in += (size_t)blockIdx.x * tiles * TILE;
  out += (size_t)blockIdx.x * tiles * CONSUMERS;
  auto full = [&](int stage) { return __cvta_generic_to_shared(&barriers.full[stage]); };
  auto free = [&](int stage) { return __cvta_generic_to_shared(&barriers.free[stage]); };
  if (threadIdx.x == 0)
    for (int stage = 0; stage < STAGES; ++stage) {
      init(full(stage), __CUDA_ARCH__ >= 900 ? 1 : 32);
      init(free(stage), CONSUMERS);
    }
  __syncthreads();
#if __CUDA_ARCH__ >= 800
  if (threadIdx.x >= CONSUMERS) {
    for (int k = 0; k < tiles; ++k) {
      int stage = k % STAGES, turn = k / STAGES;
      if (turn > 0)
        wait(free(stage), (turn - 1) & 1);
      fill(tile[stage], in + k * TILE, full(stage), threadIdx.x - CONSUMERS);
    }
    return;
  }
#endif
  float sum = 0.0f;
  for (int k = 0; k < tiles; ++k) {
    int stage = k % STAGES;
#if __CUDA_ARCH__ < 800
    if (threadIdx.x >= CONSUMERS)
      fill(tile[stage], in + k * TILE, 0, threadIdx.x - CONSUMERS);
    __syncthreads();
    if (threadIdx.x >= CONSUMERS)
      continue;
#endif
    wait(full(stage), (k / STAGES) & 1);
    sum += tile[stage][threadIdx.x] * tile[stage][threadIdx.x + CONSUMERS];
    arrive(free(stage));
    out[k * CONSUMERS + threadIdx.x] = sum;
  }
}
