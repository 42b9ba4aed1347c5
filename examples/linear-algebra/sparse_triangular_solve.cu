// One level of a sparse lower triangular solve L x = b in compressed row form, a warp a row of the level.
// Indirect loads through a level list, a shuffle reduction, a divide by the diagonal on lane 0 only.
#include "oriel_cuda.h"

extern "C" __global__ void sparse_triangular_level(const int *__restrict__ level_rows, int rows_in_level,
                                                   const int *__restrict__ row_start,
                                                   const int *__restrict__ columns,
                                                   const float *__restrict__ values,
                                                   const float *__restrict__ b, float *x) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = threadIdx.x % 32;
  if (warp >= rows_in_level)
    return;
  int row = level_rows[warp];
  // The diagonal is the last entry of its row.
  int diagonal = row_start[row + 1] - 1;
  float sum = 0.0f;
  for (int i = row_start[row] + lane; i < diagonal; i += 32)
    sum += values[i] * x[columns[i]];
#pragma unroll
  for (int delta = 16; delta > 0; delta /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, delta);
  if (lane == 0)
    x[row] = (b[row] - sum) / values[diagonal];
}
