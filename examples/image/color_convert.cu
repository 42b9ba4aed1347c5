// RGBA to YCbCr in 8-bit fixed point, four bytes a pixel moved as one word.
// Byte extraction and packing by shifts, saturation by minimum and maximum, 16-bit vector stores.
#include "oriel_cuda.h"

__device__ __forceinline__ unsigned clamp_byte(int value) { return (unsigned)min(max(value, 0), 255); }

extern "C" __global__ void rgba_to_ycbcr(const unsigned *__restrict__ rgba, unsigned char *__restrict__ luma,
                                         uchar2 *__restrict__ chroma, int pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels)
    return;
  unsigned pixel = rgba[i];
  int r = pixel & 0xff, g = pixel >> 8 & 0xff, b = pixel >> 16 & 0xff;
  luma[i] = clamp_byte(((66 * r + 129 * g + 25 * b + 128) >> 8) + 16);
  uchar2 pair;
  pair.x = clamp_byte(((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128);
  pair.y = clamp_byte(((112 * r - 94 * g - 18 * b + 128) >> 8) + 128);
  chroma[i] = pair;
}
