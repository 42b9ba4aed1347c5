// C = alpha * A * B + beta * C in double precision, 16x16 tile a block, 1x4 elements a thread.
// 64-bit floating point and register pairs; each thread loads its rows of A as double2 when the row is aligned.
#include "oriel_cuda.h"

constexpr int TILE = 16;
constexpr int COLUMNS = 4;

extern "C" __global__ void __launch_bounds__(64) dgemm(int m, int n, int k, double alpha,
                                                       const double *__restrict__ a,
                                                       const double *__restrict__ b, double beta,
                                                       double *__restrict__ c) {
  __shared__ double tile_a[TILE][TILE];
  __shared__ double tile_b[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty;
  int first_column = blockIdx.x * TILE + tx * COLUMNS;

  double sum[COLUMNS] = {};
  for (int base = 0; base < k; base += TILE) {
    int depth = base + tx * COLUMNS;
    if (row < m && depth + COLUMNS <= k && (row * k + depth) % 2 == 0) {
      const double2 *pairs = reinterpret_cast<const double2 *>(a + row * k + depth);
      reinterpret_cast<double2 *>(&tile_a[ty][tx * COLUMNS])[0] = pairs[0];
      reinterpret_cast<double2 *>(&tile_a[ty][tx * COLUMNS])[1] = pairs[1];
    } else {
      for (int i = 0; i < COLUMNS; ++i)
        tile_a[ty][tx * COLUMNS + i] = row < m && depth + i < k ? a[row * k + depth + i] : 0.0;
    }
#pragma unroll
    for (int i = 0; i < COLUMNS; ++i)
      tile_b[ty][tx * COLUMNS + i] =
          base + ty < k && first_column + i < n ? b[(base + ty) * n + first_column + i] : 0.0;
    __syncthreads();
#pragma unroll 4
    for (int d = 0; d < TILE; ++d)
#pragma unroll
      for (int i = 0; i < COLUMNS; ++i)
        sum[i] = fma(tile_a[ty][d], tile_b[d][tx * COLUMNS + i], sum[i]);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < COLUMNS; ++i)
    if (row < m && first_column + i < n)
      c[row * n + first_column + i] = alpha * sum[i] + beta * c[row * n + first_column + i];
}
