// 3x3 median filter of a 16-bit image by a sorting network of minimum and maximum.
// Nine values in a local array that unrolling turns into registers; 16-bit loads, compares and stores.
#include "oriel_cuda.h"

__device__ __forceinline__ void order(unsigned short &a, unsigned short &b) {
  unsigned short low = a < b ? a : b;
  b = a < b ? b : a;
  a = low;
}

extern "C" __global__ void median_3x3(const unsigned short *__restrict__ in, unsigned short *__restrict__ out,
                                      int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
    out[y * width + x] = in[y * width + x];
    return;
  }
  unsigned short v[9];
#pragma unroll
  for (int i = 0; i < 9; ++i)
    v[i] = in[(y + i / 3 - 1) * width + x + i % 3 - 1];
  order(v[1], v[2]), order(v[4], v[5]), order(v[7], v[8]);
  order(v[0], v[1]), order(v[3], v[4]), order(v[6], v[7]);
  order(v[1], v[2]), order(v[4], v[5]), order(v[7], v[8]);
  order(v[0], v[3]), order(v[5], v[8]), order(v[4], v[7]);
  order(v[3], v[6]), order(v[1], v[4]), order(v[2], v[5]);
  order(v[4], v[7]), order(v[4], v[2]), order(v[6], v[4]);
  order(v[4], v[2]);
  out[y * width + x] = v[4];
}
