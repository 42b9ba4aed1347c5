// 5x5 convolution of a grey image with a kernel in constant memory, through a shared tile with a halo.
// Clamped edges, a cooperative load loop that covers more elements than threads, 25 unrolled multiply-adds.
#include "oriel_cuda.h"

constexpr int RADIUS = 2;
constexpr int TILE = 16;
constexpr int HALO_TILE = TILE + 2 * RADIUS;

__constant__ float gaussian_5x5[25] = {
    1 / 273.0f,  4 / 273.0f,  7 / 273.0f,  4 / 273.0f,  1 / 273.0f,  4 / 273.0f,  16 / 273.0f, 26 / 273.0f, 16 / 273.0f,
    4 / 273.0f,  7 / 273.0f,  26 / 273.0f, 41 / 273.0f, 26 / 273.0f, 7 / 273.0f,  4 / 273.0f,  16 / 273.0f, 26 / 273.0f,
    16 / 273.0f, 4 / 273.0f,  1 / 273.0f,  4 / 273.0f,  7 / 273.0f,  4 / 273.0f,  1 / 273.0f,
};

extern "C" __global__ void __launch_bounds__(TILE *TILE, 4)
    conv2d_5x5(const float *__restrict__ in, float *__restrict__ out, int width, int height) {
  __shared__ float tile[HALO_TILE][HALO_TILE];
  int left = blockIdx.x * TILE - RADIUS, top = blockIdx.y * TILE - RADIUS;
  for (int i = threadIdx.y * TILE + threadIdx.x; i < HALO_TILE * HALO_TILE; i += TILE * TILE) {
    int x = min(max(left + i % HALO_TILE, 0), width - 1);
    int y = min(max(top + i / HALO_TILE, 0), height - 1);
    tile[i / HALO_TILE][i % HALO_TILE] = in[y * width + x];
  }
  __syncthreads();
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x >= width || y >= height)
    return;
  float sum = 0.0f;
#pragma unroll
  for (int dy = 0; dy < 2 * RADIUS + 1; ++dy)
#pragma unroll
    for (int dx = 0; dx < 2 * RADIUS + 1; ++dx)
      sum += tile[threadIdx.y + dy][threadIdx.x + dx] * gaussian_5x5[dy * 5 + dx];
  out[y * width + x] = sum;
}
