// Element-wise activations in packed half precision and in bfloat16: scaled add, rectifier, GELU by its tanh form.
// half2 arithmetic (emulated in float where the device has none), bfloat16 conversion, a scalar tail of an odd length.
#include "oriel_cuda.h"

extern "C" __global__ void half2_scale_add_relu(const __half2 *__restrict__ x, const __half2 *__restrict__ y,
                                                __half2 *__restrict__ out, float scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 factor = {(__half)scale, (__half)scale};
  __half2 zero = {(__half)0.0f, (__half)0.0f};
  if (i < n / 2) {
    __half2 sum = x[i] * factor + y[i];
    out[i].x = sum.x > zero.x ? sum.x : zero.x;
    out[i].y = sum.y > zero.y ? sum.y : zero.y;
  } else if (i == n / 2 && (n & 1)) {
    const __half *last_x = reinterpret_cast<const __half *>(x + i), *last_y = reinterpret_cast<const __half *>(y + i);
    __half sum = *last_x * factor.x + *last_y;
    *reinterpret_cast<__half *>(out + i) = sum > zero.x ? sum : zero.x;
  }
}

__device__ __forceinline__ float gelu(float x) {
  float inner = 0.797884561f * (x + 0.044715f * x * x * x);
  float e = __expf(2.0f * inner);
  // tanh(inner) = 1 - 2 / (e + 1), which is also right when e overflows.
  return 0.5f * x * (2.0f - 2.0f / (e + 1.0f));
}

extern "C" __global__ void bfloat16_gelu(const unsigned short *__restrict__ in, unsigned short *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = __uint_as_float((unsigned)in[i] << 16);
  unsigned bits = __float_as_uint(gelu(x));
  // Round to nearest, ties to even; the inputs are finite.
  out[i] = (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
