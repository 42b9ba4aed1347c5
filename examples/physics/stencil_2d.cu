// Heat diffusion: a five-point stencil in two dimensions, through a shared tile and straight from memory.
// Halo loads by the edge threads only, boundary cells kept, two forms of the same arithmetic.
#include "oriel_cuda.h"

constexpr int TILE_X = 32;
constexpr int TILE_Y = 8;

extern "C" __global__ void heat_naive(const float *__restrict__ in, float *__restrict__ out, int width, int height,
                                      float rate) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  int i = y * width + x;
  float centre = in[i];
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1)
    centre += rate * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] - 4.0f * centre);
  out[i] = centre;
}

extern "C" __global__ void __launch_bounds__(TILE_X *TILE_Y)
    heat_tiled(const float *__restrict__ in, float *__restrict__ out, int width, int height, float rate) {
  __shared__ float tile[TILE_Y + 2][TILE_X + 2];
  int x = blockIdx.x * TILE_X + threadIdx.x, y = blockIdx.y * TILE_Y + threadIdx.y;
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  bool inside = x < width && y < height;
  int i = y * width + x;
  if (inside) {
    tile[ty][tx] = in[i];
    if (tx == 1 && x > 0)
      tile[ty][0] = in[i - 1];
    if (tx == TILE_X && x < width - 1)
      tile[ty][TILE_X + 1] = in[i + 1];
    if (ty == 1 && y > 0)
      tile[0][tx] = in[i - width];
    if (ty == TILE_Y && y < height - 1)
      tile[TILE_Y + 1][tx] = in[i + width];
  }
  __syncthreads();
  if (!inside)
    return;
  float centre = tile[ty][tx];
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1)
    centre += rate * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx] - 4.0f * centre);
  out[i] = centre;
}
