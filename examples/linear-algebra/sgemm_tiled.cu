// C = alpha * A * B + beta * C through 16x16 tiles in shared memory.
// Two barriers in a loop whose trip count is not known, zero padding at the edges, a fully unrolled inner product.
#include "oriel_cuda.h"

constexpr int TILE = 16;

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    sgemm_tiled(int m, int n, int k, float alpha, const float *__restrict__ a, const float *__restrict__ b,
                float beta, float *__restrict__ c) {
  __shared__ float tile_a[TILE][TILE];
  __shared__ float tile_b[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int column = blockIdx.x * TILE + tx;
  int row = blockIdx.y * TILE + ty;

  float sum = 0.0f;
  for (int base = 0; base < k; base += TILE) {
    tile_a[ty][tx] = row < m && base + tx < k ? a[row * k + base + tx] : 0.0f;
    tile_b[ty][tx] = base + ty < k && column < n ? b[(base + ty) * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i)
      sum += tile_a[ty][i] * tile_b[i][tx];
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = alpha * sum + beta * c[row * n + column];
}
