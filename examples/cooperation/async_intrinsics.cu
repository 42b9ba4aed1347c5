// Copies in flight, an mbarrier and flags of neighbours, by clang's builtins instead of inline PTX.
// Intrinsics with side effects that name no memory, between plain accesses that may not move over them.
#include "oriel_cuda.h"

constexpr int THREADS = 64;

#define AS_SHARED(type, pointer) ((__attribute__((address_space(3))) type *)(pointer))
#define AS_GLOBAL(type, pointer) ((__attribute__((address_space(1))) const type *)(pointer))

// Moves words through two shared buffers; the first is read again when the second group of copies is complete.
extern "C" __global__ void __launch_bounds__(THREADS) two_groups(const int4 *__restrict__ in, int *__restrict__ out) {
  __shared__ int4 words[2][THREADS];
  int i = blockIdx.x * THREADS + threadIdx.x, next = (threadIdx.x + 1) % THREADS;
#if __CUDA_ARCH__ >= 800
  __nvvm_cp_async_cg_shared_global_16(AS_SHARED(int4, &words[0][threadIdx.x]), AS_GLOBAL(int4, in + i));
  __nvvm_cp_async_commit_group();
  __nvvm_cp_async_ca_shared_global_16(AS_SHARED(int4, &words[1][threadIdx.x]), AS_GLOBAL(int4, in + i));
  __nvvm_cp_async_commit_group();
  __nvvm_cp_async_wait_group(1);
#else
  words[0][threadIdx.x] = words[1][threadIdx.x] = in[i];
#endif
  __syncthreads();
  int first = words[0][next].x + words[0][next].y;
  __syncthreads();
  words[0][threadIdx.x].x = first;
#if __CUDA_ARCH__ >= 800
  __nvvm_cp_async_wait_all();
#endif
  __syncthreads();
  out[i] = words[0][next].x + words[1][next].z * words[1][next].w;
}

// A block's threads meet at an mbarrier three times, each time after one of them has changed a word that all read.
extern "C" __global__ void __launch_bounds__(THREADS)
    meet_three_times(const int *__restrict__ in, int *__restrict__ out) {
  __shared__ int word;
#if __CUDA_ARCH__ >= 800
  __shared__ long barrier;
#endif
  if (threadIdx.x == 0) {
    word = 0;
#if __CUDA_ARCH__ >= 800
    __nvvm_mbarrier_init_shared(AS_SHARED(long, &barrier), THREADS);
#endif
  }
  __syncthreads();
  int sum = 0;
  for (unsigned round = 0; round < 3; ++round) {
    int before = word;
#if __CUDA_ARCH__ >= 800
    auto state = __nvvm_mbarrier_arrive_shared(AS_SHARED(long, &barrier));
    while (!__nvvm_mbarrier_test_wait_shared(AS_SHARED(long, &barrier), state))
      ;
#else
    __syncthreads();
#endif
    if (threadIdx.x == round * 21)
      word = before + in[blockIdx.x * THREADS + threadIdx.x];
    __nvvm_barrier_sync_cnt(3, THREADS);
    sum += 2 * word - before;
  }
  out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

// Each lane's flag is seen by its neighbour in the warp, over a fence and a warp barrier, and equal flags find each
// other.
extern "C" __global__ void fenced_neighbours(const int *__restrict__ in, int *flags, int *__restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, other = (i & ~31) | ((i + 1) & 31);
  int before = flags[other];
  __nvvm_bar_warp_sync(0xffffffffu);
  flags[i] = in[i] & 7;
  __nvvm_membar_gl();
  __nvvm_bar_warp_sync(0xffffffffu);
  int after = flags[other], equal = 1;
#if __CUDA_ARCH__ >= 700
  equal = __popc(__nvvm_match_any_sync_i32(0xffffffffu, after));
#else
  equal = 0;
  for (int lane = 0; lane < 32; ++lane)
    equal += __shfl_sync(0xffffffffu, after, lane) == after;
#endif
  out[i] = 1000 * equal + 10 * after + before;
}
