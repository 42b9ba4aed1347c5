// 16-bit integer and half precision arithmetic: saturation, averages, fixed-point products, scalar half comparisons.
// 16-bit registers with sign and zero extension at every turn, packed shorts in one 32-bit register.
#include "oriel_cuda.h"

__device__ __forceinline__ short saturate(int x) { return (short)(x > 32767 ? 32767 : x < -32768 ? -32768 : x); }

extern "C" __global__ void mix_audio(const short2 *__restrict__ a, const short2 *__restrict__ b,
                                     short2 *__restrict__ out, short gain_a, short gain_b, int frames) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= frames)
    return;
  short2 x = a[i], y = b[i];
  out[i] = {saturate((x.x * gain_a + y.x * gain_b) >> 14), saturate((x.y * gain_a + y.y * gain_b) >> 14)};
}

extern "C" __global__ void wrap_around(const unsigned short *__restrict__ in, unsigned short *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned short x = in[i];
  // A linear feedback shift register, then a wrapping hash.
  for (int step = 0; step < 5; ++step) {
    unsigned short bit = (x ^ x >> 2 ^ x >> 3 ^ x >> 5) & 1;
    x = (unsigned short)(x >> 1 | bit << 15);
  }
  unsigned short hash = (unsigned short)(x * 40503u);
  hash ^= (unsigned short)(hash >> 7);
  out[i] = (unsigned short)(hash + (unsigned short)(x << 3));
}

extern "C" __global__ void half_polynomial(const __half *__restrict__ in, __half *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  __half x = in[i];
  __half result = ((__half)0.125f * x + (__half)0.5f) * x - (__half)1.0f;
  if (result < (__half)0.0f)
    result = -result;
  out[i] = result > (__half)1.5f ? (__half)1.5f : result;
}
