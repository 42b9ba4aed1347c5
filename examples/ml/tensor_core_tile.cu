// One warp multiplies 16x16 tiles of half precision into float sums: tensor cores where the device has them.
// Matrix fragments of eight registers, convergent matrix operations in a loop; plain loops on older devices.
#include "oriel_cuda.h"

extern "C" __global__ void __launch_bounds__(32)
    tensor_core_matmul(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, int n, int k) {
  int row = blockIdx.y * 16, column = blockIdx.x * 16;
#if __CUDA_ARCH__ >= 700
  float sum[8] = {};
  for (int base = 0; base < k; base += 16) {
    int fragment_a[8], fragment_b[8];
    __hmma_m16n16k16_ld_a(fragment_a, reinterpret_cast<const int *>(a + row * k + base), k, 0);
    __hmma_m16n16k16_ld_b(fragment_b, reinterpret_cast<const int *>(b + base * n + column), n, 0);
    __hmma_m16n16k16_mma_f32f32(sum, fragment_a, fragment_b, sum, 0, 0);
  }
  __hmma_m16n16k16_st_c_f32(c + row * n + column, sum, n, 0);
#else
  for (int i = threadIdx.x; i < 256; i += 32) {
    int y = row + i / 16, x = column + i % 16;
    float sum = 0.0f;
    for (int d = 0; d < k; ++d)
      sum = fmaf((float)a[y * k + d], (float)b[d * n + x], sum);
    c[y * n + x] = sum;
  }
#endif
}
