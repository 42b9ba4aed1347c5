// Horizontal filter of an 8-bit image by dot products of four signed bytes (dp4a where the device has it).
// Unaligned words assembled with a funnel shift, a packed byte dot product and its fallback by shifts.
#include "oriel_cuda.h"

__device__ __forceinline__ int dot_four_bytes(int a, int b, int sum) {
#if __CUDA_ARCH__ >= 610
  int result;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
#else
#pragma unroll
  for (int shift = 0; shift < 32; shift += 8)
    sum += (int)(signed char)(a >> shift) * (int)(signed char)(b >> shift);
  return sum;
#endif
}

// Each output is an eight-tap filter over in[x .. x + 7]; rows are padded to words by at least eight bytes.
extern "C" __global__ void filter_row_dp4a(const int *__restrict__ in, int words_per_row, int taps_low,
                                           int taps_high, int *__restrict__ out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y;
  if (x >= width || y >= height)
    return;
  const int *row = in + y * words_per_row;
  int word = x >> 2, shift = (x & 3) * 8;
  int first = row[word], second = row[word + 1], third = row[word + 2];
  int low = (int)__funnelshift_r(first, second, shift);
  int high = (int)__funnelshift_r(second, third, shift);
  out[y * width + x] = dot_four_bytes(high, taps_high, dot_four_bytes(low, taps_low, 0));
}
