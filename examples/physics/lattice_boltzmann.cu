// Lattice Boltzmann step in two dimensions with nine velocities: stream, collide, bounce back at solid cells.
// Nine loads at wrapped neighbours, a long expression with high register pressure, a branch on a byte mask.
#include "oriel_cuda.h"

__constant__ int velocity_x[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int velocity_y[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ int opposite[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
__constant__ float weight[9] = {4 / 9.0f,  1 / 9.0f,  1 / 9.0f,  1 / 9.0f, 1 / 9.0f,
                                1 / 36.0f, 1 / 36.0f, 1 / 36.0f, 1 / 36.0f};

extern "C" __global__ void lattice_boltzmann_step(const float *__restrict__ in, float *__restrict__ out,
                                                  const unsigned char *__restrict__ solid, int nx, int ny,
                                                  float relaxation) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny)
    return;
  int cells = nx * ny, cell = y * nx + x;
  float f[9];
  float density = 0.0f, momentum_x = 0.0f, momentum_y = 0.0f;
#pragma unroll
  for (int q = 0; q < 9; ++q) {
    int sx = (x - velocity_x[q] + nx) % nx, sy = (y - velocity_y[q] + ny) % ny;
    f[q] = in[q * cells + sy * nx + sx];
    density += f[q];
    momentum_x += f[q] * velocity_x[q];
    momentum_y += f[q] * velocity_y[q];
  }
  if (solid[cell]) {
#pragma unroll
    for (int q = 0; q < 9; ++q)
      out[opposite[q] * cells + cell] = f[q];
    return;
  }
  float ux = momentum_x / density, uy = momentum_y / density;
  float square = 1.5f * (ux * ux + uy * uy);
#pragma unroll
  for (int q = 0; q < 9; ++q) {
    float along = 3.0f * (velocity_x[q] * ux + velocity_y[q] * uy);
    float equilibrium = weight[q] * density * (1.0f + along + 0.5f * along * along - square);
    out[q * cells + cell] = f[q] + relaxation * (equilibrium - f[q]);
  }
}
