// Bounds, scaling and sums by kernels that may start before the one in front of them has finished.
// griddepcontrol in inline PTX and as an intrinsic, and loads of one address on both sides of the wait.
#include "oriel_cuda.h"

// Lets the next grid of the stream start: what it does before its wait overlaps with the rest of this one.
__device__ __forceinline__ void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::);
#endif
}

// Returns when all grids before are complete and their memory is visible. Named no memory, as it is often written.
__device__ __forceinline__ void wait_for_grids() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;");
#endif
}

#if __CUDA_ARCH__ >= 900
__device__ void griddepcontrol_wait() asm("llvm.nvvm.griddepcontrol.wait");
#else
__device__ __forceinline__ void griddepcontrol_wait() {}
#endif

// Bounds of each block's values.
extern "C" __global__ void block_bounds(const float *__restrict__ in, float2 *__restrict__ bounds, unsigned *ready,
                                        int n) {
  __shared__ float least[4], most[4];
  launch_dependents();
  int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / 32;
  float low = i < n ? in[i] : FLT_MAX, high = i < n ? in[i] : -FLT_MAX;
  for (int delta = 16; delta > 0; delta /= 2) {
    low = fminf(low, __shfl_xor_sync(0xffffffffu, low, delta));
    high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, delta));
  }
  if (threadIdx.x % 32 == 0) {
    least[warp] = low;
    most[warp] = high;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int other = 1; other < 4; ++other) {
      low = fminf(low, least[other]);
      high = fmaxf(high, most[other]);
    }
    bounds[blockIdx.x] = make_float2(low, high);
    atomicAdd(ready, 1u);
  }
}

// Brings the values between 0 and 1. `ready` is read before and after the wait: the first says how early the block
// came.
extern "C" __global__ void normalize(const float *in, const float2 *bounds, const unsigned *ready, float *out,
                                     unsigned *seen, int blocks, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = i < n ? in[i] : 0.0f;
  unsigned early = *ready;
  wait_for_grids();
  unsigned all = *ready;
  float low = FLT_MAX, high = -FLT_MAX;
  for (int block = 0; block < blocks; ++block) {
    float2 part = bounds[block];
    low = fminf(low, part.x);
    high = fmaxf(high, part.y);
  }
  launch_dependents();
  if (i < n)
    out[i] = __fdividef(value - low, high - low);
  if (threadIdx.x == 0) {
    seen[2 * blockIdx.x] = early;
    seen[2 * blockIdx.x + 1] = all;
  }
}

// Sums a table before and after the grids in front of it are complete: the second sum, and by how much the first was
// wrong.
extern "C" __global__ void sum_after(const float *table, float *sums, float *drift, int n) {
  float first = 0.0f, second = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    first += table[i];
  griddepcontrol_wait();
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    second += table[i];
  sums[blockIdx.x * blockDim.x + threadIdx.x] = second;
  drift[blockIdx.x * blockDim.x + threadIdx.x] = second - first;
}
