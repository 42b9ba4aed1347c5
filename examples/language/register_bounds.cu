// The same work under three launch bounds: none, a minimum number of blocks, and one that forces few registers.
// Thirty-two accumulators live through a loop, which is more than the tightest bound leaves: spills are ptxas's choice.
#include "oriel_cuda.h"

constexpr int WIDTH = 32;

__device__ __forceinline__ void autocorrelate(const float *__restrict__ signal, float *__restrict__ out, int length) {
  int series = blockIdx.x * blockDim.x + threadIdx.x;
  const float *samples = signal + series * length;
  float window[WIDTH], sum[WIDTH];
#pragma unroll
  for (int lag = 0; lag < WIDTH; ++lag)
    window[lag] = sum[lag] = 0.0f;
  for (int t = 0; t < length; ++t) {
#pragma unroll
    for (int lag = WIDTH - 1; lag > 0; --lag)
      window[lag] = window[lag - 1];
    window[0] = samples[t];
#pragma unroll
    for (int lag = 0; lag < WIDTH; ++lag)
      sum[lag] = fmaf(window[0], window[lag], sum[lag]);
  }
#pragma unroll
  for (int lag = 0; lag < WIDTH; ++lag)
    out[series * WIDTH + lag] = sum[lag];
}

extern "C" __global__ void autocorrelate_unbounded(const float *__restrict__ signal, float *__restrict__ out, int length) {
  autocorrelate(signal, out, length);
}

extern "C" __global__ void __launch_bounds__(128, 4)
    autocorrelate_four_blocks(const float *__restrict__ signal, float *__restrict__ out, int length) {
  autocorrelate(signal, out, length);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    autocorrelate_full_block(const float *__restrict__ signal, float *__restrict__ out, int length) {
  autocorrelate(signal, out, length);
}
