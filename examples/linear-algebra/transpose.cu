// Matrix transpose: straight from memory to memory, and through a 32x32 tile of shared memory.
// The tile has a padding column against bank conflicts; a 32x8 block moves it in four unrolled steps.
#include "oriel_cuda.h"

constexpr int TILE = 32;
constexpr int ROWS = 8;

extern "C" __global__ void transpose_naive(const float *__restrict__ in, float *__restrict__ out, int width,
                                           int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    out[x * height + y] = in[y * width + x];
}

extern "C" __global__ void transpose_tiled(const float *__restrict__ in, float *__restrict__ out, int width,
                                           int height) {
  __shared__ float tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x;
  int y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE; j += ROWS)
    if (x < width && y + j < height)
      tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();

  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
  for (int j = 0; j < TILE; j += ROWS)
    if (x < height && y + j < width)
      out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
