// One step of LU decomposition without pivoting: scale the pivot's column, then update the trailing matrix.
// A divide by a value all threads share, and a rank-one update whose active part shrinks from step to step.
#include "oriel_cuda.h"

extern "C" __global__ void lu_scale_column(float *matrix, int n, int step) {
  int row = step + 1 + blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n)
    matrix[row * n + step] /= matrix[step * n + step];
}

extern "C" __global__ void lu_update_trailing(float *matrix, int n, int step) {
  __shared__ float pivot_row[16];
  __shared__ float pivot_column[16];
  int column = step + 1 + blockIdx.x * 16 + threadIdx.x;
  int row = step + 1 + blockIdx.y * 16 + threadIdx.y;
  if (threadIdx.y == 0 && column < n)
    pivot_row[threadIdx.x] = matrix[step * n + column];
  if (threadIdx.x == 0 && row < n)
    pivot_column[threadIdx.y] = matrix[row * n + step];
  __syncthreads();
  if (row < n && column < n)
    matrix[row * n + column] -= pivot_column[threadIdx.y] * pivot_row[threadIdx.x];
}
