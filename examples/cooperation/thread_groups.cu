// Tiles of a warp, active lanes and a grid as group objects with their own barriers, votes and election.
// Member functions of inline PTX: activemask, elect, masked shuffles, a grid barrier that spins on an acquire load.
#include "oriel_cuda.h"

template <int SIZE> struct tile {
  unsigned rank, mask;
  __device__ __forceinline__ tile() {
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    rank = lane % SIZE;
    mask = (SIZE == 32 ? 0xffffffffu : (1u << (SIZE % 32)) - 1u) << (lane - rank);
  }
  __device__ __forceinline__ void sync() const { asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory"); }
  __device__ __forceinline__ int down(int value, int delta) const {
    int other;
    asm volatile("shfl.sync.down.b32 %0, %1, %2, %3, %4;"
                 : "=r"(other)
                 : "r"(value), "r"(delta), "n"(((32 - SIZE) << 8) | 31), "r"(mask));
    return other;
  }
  __device__ __forceinline__ bool any(bool value) const {
    int result;
    asm volatile(
        "{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 0;\n\tvote.sync.any.pred q, p, %2;\n\tselp.s32 %0, 1, 0, q;\n\t}"
        : "=r"(result)
        : "r"((int)value), "r"(mask));
    return result;
  }
};

// The lanes that run this together, whatever the branches before have left.
struct active_lanes {
  unsigned mask;
  __device__ __forceinline__ active_lanes() { asm volatile("activemask.b32 %0;" : "=r"(mask)); }
  __device__ __forceinline__ bool elect() const {
#if __CUDA_ARCH__ >= 900
    unsigned chosen;
    asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, %1;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(chosen) : "r"(mask));
    return chosen;
#else
    unsigned below;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    return (mask & below) == 0;
#endif
  }
};

struct grid_group {
  unsigned *arrived;
  // All blocks must be resident at once. The last one to arrive turns the top bit over.
  __device__ __forceinline__ void sync() const {
    asm volatile("barrier.sync 0;" ::: "memory");
    if (threadIdx.x == 0) {
      unsigned step = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1, old, now;
#if __CUDA_ARCH__ >= 700
      asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;" : "=r"(old) : "l"(arrived), "r"(step) : "memory");
      do
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(arrived) : "memory");
      while (((old ^ now) & 0x80000000u) == 0);
#else
      asm volatile("membar.gl;\n\tatom.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(arrived), "r"(step) : "memory");
      do
        asm volatile("ld.volatile.u32 %0, [%1];" : "=r"(now) : "l"(arrived) : "memory");
      while (((old ^ now) & 0x80000000u) == 0);
      asm volatile("membar.gl;" ::: "memory");
#endif
    }
    asm volatile("barrier.sync 0;" ::: "memory");
  }
};

// Sums in tiles of eight; a tile with an odd element waits for its own lanes only and adds them in shared memory.
extern "C" __global__ void tile_sums(const int *__restrict__ in, int *__restrict__ out) {
  __shared__ int scratch[128];
  tile<8> group;
  int i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i], sum = value;
  if (group.any(value & 1)) {
    scratch[threadIdx.x] = value;
    group.sync();
    sum = 0;
    for (int k = 0; k < 8; ++k)
      sum += scratch[threadIdx.x / 8 * 8 + k];
  } else {
#pragma unroll
    for (int delta = 4; delta > 0; delta /= 2)
      sum += group.down(sum, delta);
  }
  if (group.rank == 0)
    out[i / 8] = sum;
}

// One atomic for all lanes that take the branch together.
extern "C" __global__ void count_by_sign(const int *__restrict__ in, unsigned *__restrict__ counts) {
  int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  if (value == 0)
    return;
  active_lanes lanes;
  bool negative = value < 0;
  unsigned below_zero = __ballot_sync(lanes.mask, negative);
  if (lanes.elect()) {
    atomicAdd(&counts[0], (unsigned)__popc(below_zero));
    atomicAdd(&counts[1], (unsigned)__popc(lanes.mask & ~below_zero));
  }
}

// Each round smooths the whole array; blocks read what others wrote in the round before.
extern "C" __global__ void smooth_rounds(int *a, int *b, unsigned *arrived, int n, int rounds) {
  grid_group grid{arrived};
  for (int round = 0; round < rounds; ++round) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      b[i] = (a[i == 0 ? 0 : i - 1] + 2 * a[i] + a[i == n - 1 ? i : i + 1]) >> 2;
    grid.sync();
    int *swap = a;
    a = b;
    b = swap;
  }
}
