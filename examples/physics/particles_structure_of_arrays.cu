// Particles in a box as a structure of arrays passed by value: gravity, drag, bouncing walls and a lifetime.
// A kernel parameter of seven pointers, predicated updates, many small branches that become selects.
#include "oriel_cuda.h"

struct Particles {
  float *x, *y, *z;
  float *vx, *vy, *vz;
  int *life;
};

__device__ __forceinline__ void bounce(float &position, float &velocity, float limit) {
  if (position < 0.0f) {
    position = -position;
    velocity = -0.8f * velocity;
  } else if (position > limit) {
    position = 2.0f * limit - position;
    velocity = -0.8f * velocity;
  }
}

extern "C" __global__ void advance_particles(Particles p, int n, float dt, float drag, float limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || p.life[i] <= 0)
    return;
  float x = p.x[i], y = p.y[i], z = p.z[i];
  float vx = p.vx[i], vy = p.vy[i], vz = p.vz[i];
  float keep = 1.0f - drag * dt;
  vx *= keep;
  vy = vy * keep - 9.81f * dt;
  vz *= keep;
  x += vx * dt;
  y += vy * dt;
  z += vz * dt;
  bounce(x, vx, limit);
  bounce(y, vy, limit);
  bounce(z, vz, limit);
  p.x[i] = x, p.y[i] = y, p.z[i] = z;
  p.vx[i] = vx, p.vy[i] = vy, p.vz[i] = vz;
  p.life[i] -= vx * vx + vy * vy + vz * vz < 1e-3f ? 2 : 1;
}

// The same step for pointers that come one by one, which is how hosts without structs launch it.
extern "C" __global__ void advance_particles_flat(float *x, float *y, float *z, float *vx, float *vy, float *vz,
                                                  int *life, int n, float dt, float drag, float limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || life[i] <= 0)
    return;
  float keep = 1.0f - drag * dt;
  float ux = vx[i] * keep, uy = vy[i] * keep - 9.81f * dt, uz = vz[i] * keep;
  float px = x[i] + ux * dt, py = y[i] + uy * dt, pz = z[i] + uz * dt;
  bounce(px, ux, limit);
  bounce(py, uy, limit);
  bounce(pz, uz, limit);
  x[i] = px, y[i] = py, z[i] = pz;
  vx[i] = ux, vy[i] = uy, vz[i] = uz;
  life[i] -= 1;
}
