// Monte Carlo price of an Asian option with the counter-based Philox 4x32-10 generator and Box-Muller normals.
// Wide multiplies (both halves), a ten-round loop fully unrolled, a path loop, a block reduction in double.
#include "oriel_cuda.h"

__device__ __forceinline__ uint4 philox(uint4 counter, uint2 key) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    unsigned high0 = __umulhi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
    unsigned high1 = __umulhi(0xCD9E8D57u, counter.z), low1 = 0xCD9E8D57u * counter.z;
    counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}

__device__ __forceinline__ float2 box_muller(unsigned a, unsigned b) {
  // The half keeps the logarithm's operand away from zero.
  float u = (a + 0.5f) * 2.3283064e-10f, v = b * 2.3283064e-10f;
  float radius = sqrtf(-2.0f * __logf(fminf(u, 0.99999994f)));
  return make_float2(radius * __cosf(6.28318531f * v), radius * __sinf(6.28318531f * v));
}

extern "C" __global__ void __launch_bounds__(64)
    monte_carlo_asian(double *sum, unsigned *__restrict__ raw, int paths, int steps, float spot, float strike,
                      float drift, float volatility, unsigned seed) {
  __shared__ double scratch[64];
  int path = blockIdx.x * blockDim.x + threadIdx.x;
  double payoff = 0.0;
  if (path < paths) {
    float price = spot, total = 0.0f;
    unsigned mixed = 0;
    for (int step = 0; step < steps; step += 4) {
      uint4 bits = philox(make_uint4(path, step, 0, 0), make_uint2(seed, 0x1234567u));
      mixed ^= bits.x ^ bits.y ^ bits.z ^ bits.w;
      float2 first = box_muller(bits.x, bits.y), second = box_muller(bits.z, bits.w);
      float normals[4] = {first.x, first.y, second.x, second.y};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        price *= __expf(drift + volatility * normals[i]);
        total += price;
      }
    }
    payoff = fmaxf(total / steps - strike, 0.0f);
    raw[path] = mixed;
  }
  scratch[threadIdx.x] = payoff;
  __syncthreads();
#pragma unroll
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half)
      scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    atomicAdd(sum, scratch[0]);
}
