// Gravitational n-body step: all pairs, bodies read through shared memory a tile at a time, then a leapfrog update.
// Reciprocal square roots, float4 traffic, a tile loop with barriers around an inner loop unrolled by eight.
#include "oriel_cuda.h"

constexpr int TILE = 64;

__device__ __forceinline__ float3 accelerate(float3 sum, float4 self, float4 other, float softening) {
  float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
  float square = dx * dx + dy * dy + dz * dz + softening;
  float inverse = rsqrtf(square);
  float factor = other.w * inverse * inverse * inverse;
  return {sum.x + dx * factor, sum.y + dy * factor, sum.z + dz * factor};
}

extern "C" __global__ void __launch_bounds__(TILE)
    n_body_step(const float4 *__restrict__ bodies, float4 *__restrict__ moved, float4 *__restrict__ velocities, int n,
                float time_step) {
  __shared__ float4 tile[TILE];
  int i = blockIdx.x * TILE + threadIdx.x;
  float4 self = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 sum = {0.0f, 0.0f, 0.0f};
  for (int base = 0; base < n; base += TILE) {
    // A body of no mass attracts nothing, so the last tile needs no bound in the inner loop.
    tile[threadIdx.x] = base + threadIdx.x < n ? bodies[base + threadIdx.x] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < TILE; ++j)
      sum = accelerate(sum, self, tile[j], 1e-2f);
    __syncthreads();
  }
  if (i >= n)
    return;
  float4 velocity = velocities[i];
  velocity.x += sum.x * time_step;
  velocity.y += sum.y * time_step;
  velocity.z += sum.z * time_step;
  velocities[i] = velocity;
  moved[i] = make_float4(self.x + velocity.x * time_step, self.y + velocity.y * time_step,
                         self.z + velocity.z * time_step, self.w);
}
