// Layer normalisation with Welford's running mean and variance, a warp a row, half precision in and out.
// Packed half2 loads and stores, conversions to float and back, three values combined by shuffles, a divide a step.
#include "oriel_cuda.h"

struct Moments {
  float mean, squares, count;
};

__device__ __forceinline__ Moments combine(Moments a, Moments b) {
  float count = a.count + b.count;
  if (count == 0.0f)
    return a;
  float delta = b.mean - a.mean, share = b.count / count;
  return {a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share, count};
}

extern "C" __global__ void layer_norm_half(const __half2 *__restrict__ in, const float2 *__restrict__ gain,
                                           const float2 *__restrict__ bias, __half2 *__restrict__ out, int rows,
                                           int pairs, float epsilon) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  Moments moments = {0.0f, 0.0f, 0.0f};
  for (int i = lane; i < pairs; i += 32) {
    __half2 pair = in[row * pairs + i];
    moments = combine(moments, {(float)pair.x, 0.0f, 1.0f});
    moments = combine(moments, {(float)pair.y, 0.0f, 1.0f});
  }
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    Moments other = {__shfl_xor_sync(0xffffffffu, moments.mean, lanes),
                     __shfl_xor_sync(0xffffffffu, moments.squares, lanes),
                     __shfl_xor_sync(0xffffffffu, moments.count, lanes)};
    moments = combine(moments, other);
  }
  float inverse = rsqrtf(moments.squares / moments.count + epsilon);
  for (int i = lane; i < pairs; i += 32) {
    __half2 pair = in[row * pairs + i];
    float2 g = gain[i], b = bias[i];
    __half2 result;
    result.x = (__half)(((float)pair.x - moments.mean) * inverse * g.x + b.x);
    result.y = (__half)(((float)pair.y - moments.mean) * inverse * g.y + b.y);
    out[row * pairs + i] = result;
  }
}
