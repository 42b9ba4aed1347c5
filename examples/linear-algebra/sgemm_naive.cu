// C = alpha * A * B + beta * C in single precision, one thread an element of C.
// A long serial reduction with two strided loads in the inner loop and no shared memory.
#include "oriel_cuda.h"

extern "C" __global__ void sgemm_naive(int m, int n, int k, float alpha, const float *__restrict__ a,
                                       const float *__restrict__ b, float beta, float *__restrict__ c) {
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n)
    return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i)
    sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = alpha * sum + beta * c[row * n + column];
}
