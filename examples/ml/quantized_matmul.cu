// Matrix product of signed bytes with 32-bit sums, scaled and saturated back to bytes.
// Four bytes a load, sign extension of packed bytes, an unrolled dot product, float to integer rounding.
#include "oriel_cuda.h"

__device__ __forceinline__ int dot_packed(unsigned a, unsigned b, int sum) {
#pragma unroll
  for (int shift = 0; shift < 32; shift += 8)
    sum += (int)(signed char)(a >> shift) * (int)(signed char)(b >> shift);
  return sum;
}

// b is stored transposed, so that both operands are read along k.
extern "C" __global__ void quantized_matmul(const unsigned *__restrict__ a, const unsigned *__restrict__ b_transposed,
                                            signed char *__restrict__ c, int m, int n, int packed_k, float scale) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || column >= n)
    return;
  int sum = 0;
#pragma unroll 4
  for (int k = 0; k < packed_k; ++k)
    sum = dot_packed(a[row * packed_k + k], b_transposed[column * packed_k + k], sum);
  int rounded = (int)rintf(sum * scale);
  c[row * n + column] = (signed char)min(max(rounded, -128), 127);
}
