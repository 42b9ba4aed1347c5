// C = alpha * A * B + beta * C, 32x32 tile a block, 4x4 elements a thread held in registers.
// High register pressure: sixteen accumulators and eight operands live through an unrolled loop.
#include "oriel_cuda.h"

template <int TILE, int DEPTH, int PER_THREAD>
__device__ __forceinline__ void gemm_block(int m, int n, int k, float alpha, const float *__restrict__ a,
                                           const float *__restrict__ b, float beta, float *__restrict__ c) {
  constexpr int THREADS_PER_SIDE = TILE / PER_THREAD;
  constexpr int THREADS = THREADS_PER_SIDE * THREADS_PER_SIDE;
  __shared__ float tile_a[DEPTH][TILE];
  __shared__ float tile_b[DEPTH][TILE];
  int thread = threadIdx.x;
  int tx = thread % THREADS_PER_SIDE * PER_THREAD;
  int ty = thread / THREADS_PER_SIDE * PER_THREAD;
  int first_row = blockIdx.y * TILE;
  int first_column = blockIdx.x * TILE;

  float sum[PER_THREAD][PER_THREAD] = {};
  for (int base = 0; base < k; base += DEPTH) {
#pragma unroll
    for (int i = thread; i < TILE * DEPTH; i += THREADS) {
      int row_a = first_row + i / DEPTH, column_a = base + i % DEPTH;
      tile_a[i % DEPTH][i / DEPTH] = row_a < m && column_a < k ? a[row_a * k + column_a] : 0.0f;
      int row_b = base + i / TILE, column_b = first_column + i % TILE;
      tile_b[i / TILE][i % TILE] = row_b < k && column_b < n ? b[row_b * n + column_b] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < DEPTH; ++d) {
      float column[PER_THREAD], row[PER_THREAD];
#pragma unroll
      for (int i = 0; i < PER_THREAD; ++i) {
        column[i] = tile_a[d][ty + i];
        row[i] = tile_b[d][tx + i];
      }
#pragma unroll
      for (int i = 0; i < PER_THREAD; ++i)
#pragma unroll
        for (int j = 0; j < PER_THREAD; ++j)
          sum[i][j] = fmaf(column[i], row[j], sum[i][j]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < PER_THREAD; ++i)
#pragma unroll
    for (int j = 0; j < PER_THREAD; ++j) {
      int row = first_row + ty + i, column = first_column + tx + j;
      if (row < m && column < n)
        c[row * n + column] = alpha * sum[i][j] + beta * c[row * n + column];
    }
}

extern "C" __global__ void __launch_bounds__(64, 8)
    sgemm_register_blocked(int m, int n, int k, float alpha, const float *__restrict__ a,
                           const float *__restrict__ b, float beta, float *__restrict__ c) {
  gemm_block<32, 8, 4>(m, n, k, alpha, a, b, beta, c);
}
