// Black-Scholes prices of European calls and puts, two options a thread through float2.
// Long straight-line floating point code with exp, log and square root, a polynomial by Horner's rule, selects.
#include "oriel_cuda.h"

__device__ __forceinline__ float cumulative_normal(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  float tail = 0.39894228040143f * __expf(-0.5f * d * d) *
               (k * (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0.0f ? 1.0f - tail : tail;
}

__device__ __forceinline__ void price(float spot, float strike, float years, float rate, float volatility, float &call,
                                      float &put) {
  float spread = volatility * sqrtf(years);
  float d1 = (__logf(__fdividef(spot, strike)) + (rate + 0.5f * volatility * volatility) * years) / spread;
  float d2 = d1 - spread;
  float n1 = cumulative_normal(d1), n2 = cumulative_normal(d2);
  float discounted = strike * __expf(-rate * years);
  call = spot * n1 - discounted * n2;
  put = discounted * (1.0f - n2) - spot * (1.0f - n1);
}

extern "C" __global__ void __launch_bounds__(128)
    black_scholes(const float2 *__restrict__ spots, const float2 *__restrict__ strikes,
                  const float2 *__restrict__ years, float2 *__restrict__ calls, float2 *__restrict__ puts, float rate,
                  float volatility, int pairs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs)
    return;
  float2 spot = spots[i], strike = strikes[i], time = years[i], call, put;
  price(spot.x, strike.x, time.x, rate, volatility, call.x, put.x);
  price(spot.y, strike.y, time.y, rate, volatility, call.y, put.y);
  calls[i] = call;
  puts[i] = put;
}
