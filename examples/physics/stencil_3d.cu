// Seven-point wave equation stencil in three dimensions that marches along z with three planes in registers.
// A loop-carried register queue, shared memory for the plane in x and y, two barriers an iteration.
#include "oriel_cuda.h"

constexpr int TILE = 8;

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    wave_3d(const float *__restrict__ now, const float *__restrict__ before, float *__restrict__ next, int nx, int ny,
            int nz, float courant) {
  __shared__ float plane[TILE + 2][TILE + 2];
  int x = blockIdx.x * TILE + threadIdx.x + 1, y = blockIdx.y * TILE + threadIdx.y + 1;
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  bool active = x < nx - 1 && y < ny - 1;
  int slice = nx * ny;
  int i = y * nx + x;
  float behind = 0.0f, here = active ? now[i] : 0.0f, ahead = active ? now[i + slice] : 0.0f;

  for (int z = 1; z < nz - 1; ++z) {
    i += slice;
    behind = here;
    here = ahead;
    ahead = active ? now[i + slice] : 0.0f;
    __syncthreads();
    // Threads beyond the grid would overwrite the halo that their active neighbours load.
    if (active) {
      plane[ty][tx] = here;
      if (tx == 1)
        plane[ty][0] = now[i - 1];
      if (tx == TILE || x == nx - 2)
        plane[ty][tx + 1] = now[i + 1];
      if (ty == 1)
        plane[0][tx] = now[i - nx];
      if (ty == TILE || y == ny - 2)
        plane[ty + 1][tx] = now[i + nx];
    }
    __syncthreads();
    if (active) {
      float laplacian = plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx] + behind + ahead -
                        6.0f * here;
      next[i] = 2.0f * here - before[i] + courant * laplacian;
    }
  }
}
