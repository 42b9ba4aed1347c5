// y = a * x + y over single precision vectors.
// The smallest memory-bound kernel: one bounds check, and a grid-stride form whose loop is unrolled by four.
#include "oriel_cuda.h"

extern "C" __global__ void saxpy(int n, float a, const float *__restrict__ x, float *__restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

extern "C" __global__ void saxpy_grid_stride(int n, float a, const float *__restrict__ x,
                                             float *__restrict__ y) {
  int stride = gridDim.x * blockDim.x;
#pragma unroll 4
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    y[i] = fmaf(a, __ldg(x + i), y[i]);
}
