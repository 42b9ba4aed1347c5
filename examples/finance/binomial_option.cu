// American put by a binomial tree, a block an option, the tree folded in place in shared memory.
// A triangular loop with barriers, a maximum with the early exercise value, power by repeated multiplication.
#include "oriel_cuda.h"

__device__ float power(float base, int exponent) {
  float inverse = 1.0f / base;
  float factor = exponent < 0 ? inverse : base, result = 1.0f;
  for (int n = exponent < 0 ? -exponent : exponent; n > 0; n >>= 1) {
    if (n & 1)
      result *= factor;
    factor *= factor;
  }
  return result;
}

extern "C" __global__ void __launch_bounds__(128)
    binomial_american_put(const float *__restrict__ spots, const float *__restrict__ strikes, float *__restrict__ prices,
                          int steps, float up, float probability, float discount) {
  __shared__ float values[128];
  int node = threadIdx.x;
  float spot = spots[blockIdx.x], strike = strikes[blockIdx.x];
  if (node <= steps)
    values[node] = fmaxf(strike - spot * power(up, 2 * node - steps), 0.0f);
  __syncthreads();
  for (int level = steps - 1; level >= 0; --level) {
    float value = 0.0f;
    if (node <= level) {
      float hold = discount * (probability * values[node + 1] + (1.0f - probability) * values[node]);
      value = fmaxf(hold, strike - spot * power(up, 2 * node - level));
    }
    __syncthreads();
    if (node <= level)
      values[node] = value;
    __syncthreads();
  }
  if (node == 0)
    prices[blockIdx.x] = values[0];
}
