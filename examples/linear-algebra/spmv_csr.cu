// y = A x for a matrix in compressed sparse row form: a thread a row, and a warp a row.
// Loop bounds that come from memory, gather loads, an uneven amount of work between neighbouring threads.
#include "oriel_cuda.h"

extern "C" __global__ void spmv_csr_scalar(int rows, const int *__restrict__ row_start,
                                           const int *__restrict__ columns, const float *__restrict__ values,
                                           const float *__restrict__ x, float *__restrict__ y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0.0f;
  for (int i = row_start[row], end = row_start[row + 1]; i < end; ++i)
    sum += values[i] * __ldg(x + columns[i]);
  y[row] = sum;
}

extern "C" __global__ void spmv_csr_warp(int rows, const int *__restrict__ row_start,
                                         const int *__restrict__ columns, const float *__restrict__ values,
                                         const float *__restrict__ x, float *__restrict__ y) {
  int lane = threadIdx.x & 31;
  int warps = gridDim.x * blockDim.x >> 5;
  for (int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5; row < rows; row += warps) {
    float sum = 0.0f;
    for (int i = row_start[row] + lane, end = row_start[row + 1]; i < end; i += 32)
      sum += values[i] * __ldg(x + columns[i]);
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes >>= 1)
      sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (lane == 0)
      y[row] = sum;
  }
}
