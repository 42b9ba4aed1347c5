// A Jacobi iteration for a dense system A x = b, a block a row, and the squared residual as one double.
// A reduction inside a row, a select that skips the diagonal, a double precision atomic add (a CAS loop on sm_50).
#include "oriel_cuda.h"

extern "C" __global__ void jacobi_iteration(const double *__restrict__ a, const double *__restrict__ b,
                                            const double *__restrict__ x, double *__restrict__ next, int n,
                                            double *residual) {
  __shared__ double partial[64];
  int row = blockIdx.x;
  double sum = 0.0;
  for (int column = threadIdx.x; column < n; column += blockDim.x)
    sum += column == row ? 0.0 : a[row * n + column] * x[column];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    double value = (b[row] - partial[0]) / a[row * n + row];
    double change = value - x[row];
    next[row] = value;
    atomicAdd(residual, change * change);
  }
}
