// Matrix-vector product whose rows stream through four stages of shared memory by copies in flight.
// cp.async, commit and wait groups, with and without a "memory" clobber, beside plain loads of what they fill.
#include "oriel_cuda.h"

constexpr int STAGES = 4, THREADS = 64, CHUNK = THREADS * 4;

// Copies 16 bytes, or zeros past the end of the row; the source size makes the hardware fill the rest.
__device__ __forceinline__ void copy_16(float *to, const float *from, bool inside) {
#if __CUDA_ARCH__ >= 800
  unsigned shared = __cvta_generic_to_shared(to);
  int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared), "l"(from), "r"(bytes) : "memory");
#else
  *reinterpret_cast<float4 *>(to) = inside ? *reinterpret_cast<const float4 *>(from) : make_float4(0, 0, 0, 0);
#endif
}

__device__ __forceinline__ void commit_stage() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;\n" ::);
#endif
}

template <int IN_FLIGHT> __device__ __forceinline__ void wait_stage() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;\n" ::"n"(IN_FLIGHT));
#endif
  __syncthreads();
}

__device__ __forceinline__ float sum_of_block(float value, float *scratch) {
  for (int delta = 16; delta > 0; delta >>= 1)
    value += __shfl_xor_sync(0xffffffffu, value, delta);
  if ((threadIdx.x & 31) == 0)
    scratch[threadIdx.x >> 5] = value;
  __syncthreads();
  return scratch[0] + scratch[1];
}

// y = A x, a block a row; `columns` is a multiple of four, so each 16-byte copy is inside or outside as a whole.
extern "C" __global__ void __launch_bounds__(THREADS)
    pipelined_row_product(const float *__restrict__ a, const float *__restrict__ x, float *__restrict__ y,
                          int columns) {
  __shared__ __align__(16) float tile[STAGES][2][CHUNK];
  __shared__ float scratch[THREADS / 32];
  const float *row = a + (size_t)blockIdx.x * columns;
  int chunks = (columns + CHUNK - 1) / CHUNK, mine = threadIdx.x * 4;
  auto fetch = [&](int chunk) {
    int column = chunk * CHUNK + mine;
    bool inside = chunk < chunks && column < columns;
    copy_16(&tile[chunk % STAGES][0][mine], inside ? row + column : row, inside);
    copy_16(&tile[chunk % STAGES][1][mine], inside ? x + column : x, inside);
    commit_stage();
  };
#pragma unroll
  for (int chunk = 0; chunk < STAGES - 1; ++chunk)
    fetch(chunk);
  float sum = 0.0f;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    wait_stage<STAGES - 2>();
    fetch(chunk + STAGES - 1);
    const float *left = tile[chunk % STAGES][0], *right = tile[chunk % STAGES][1];
    // Each thread reads what another has copied: only the wait and the barrier before make that right.
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      int at = part * THREADS + (THREADS - 1 - threadIdx.x);
      sum = fmaf(left[at], right[at], sum);
    }
  }
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;\n" ::);
#endif
  sum = sum_of_block(sum, scratch);
  if (threadIdx.x == 0)
    y[blockIdx.x] = sum;
}

// Each thread copies two words to the same place, one after the other, and reads it after each wait: its own copies
// need no barrier, so only the statements, which name no memory, keep the two loads apart.
extern "C" __global__ void two_copies_one_place(const unsigned *__restrict__ in, unsigned *__restrict__ out, int n) {
  __shared__ unsigned words[THREADS];
  int i = blockIdx.x * THREADS + threadIdx.x;
  unsigned *mine = words + threadIdx.x;
  if (i >= n)
    return;
#if __CUDA_ARCH__ >= 800
  unsigned shared = __cvta_generic_to_shared(mine);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(shared), "l"(in + i));
  asm volatile("cp.async.wait_all;\n" ::);
#else
  *mine = in[i];
#endif
  unsigned first = *mine;
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(shared), "l"(in + n + i));
  asm volatile("cp.async.wait_all;\n" ::);
#else
  *mine = in[n + i];
#endif
  unsigned second = *mine;
  out[i] = first * 3 + second;
}
