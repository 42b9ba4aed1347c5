// 64-point complex FFT by eight threads, each with eight points in registers: radix 8 twice, one exchange between.
// Sixteen live floats through straight-line butterflies; twiddle factors from constant memory at run-time indices.
#include "oriel_cuda.h"

// cos(2 pi k / 64) for k = 0 .. 16: the other quadrants follow by symmetry.
__constant__ float quarter_cosine[17] = {
    1.0f,          0.995184727f, 0.980785280f, 0.956940336f, 0.923879533f, 0.881921264f,
    0.831469612f,  0.773010453f, 0.707106781f, 0.634393284f, 0.555570233f, 0.471396737f,
    0.382683432f,  0.290284677f, 0.195090322f, 0.0980171403f, 0.0f,
};

__device__ __forceinline__ float2 twiddle(int k) {
  k &= 63;
  int quadrant = k >> 4, rest = k & 15;
  float c = quarter_cosine[rest], s = quarter_cosine[16 - rest];
  float cosine = quadrant == 0 ? c : quadrant == 1 ? -s : quadrant == 2 ? -c : s;
  float sine = quadrant == 0 ? s : quadrant == 1 ? c : quadrant == 2 ? -s : -c;
  return make_float2(cosine, -sine);
}

__device__ __forceinline__ float2 multiply(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

__device__ __forceinline__ void butterfly(float2 &a, float2 &b) {
  float2 sum = make_float2(a.x + b.x, a.y + b.y), difference = make_float2(a.x - b.x, a.y - b.y);
  a = sum;
  b = difference;
}

// Output k of the transform is left in v[bit reversal of k].
__device__ __forceinline__ void fft8(float2 (&v)[8]) {
  constexpr float R = 0.707106781f;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    butterfly(v[i], v[i + 4]);
  v[5] = multiply(v[5], make_float2(R, -R));
  v[6] = make_float2(v[6].y, -v[6].x);
  v[7] = multiply(v[7], make_float2(-R, -R));
#pragma unroll
  for (int base = 0; base < 8; base += 4) {
    butterfly(v[base], v[base + 2]);
    butterfly(v[base + 1], v[base + 3]);
    v[base + 3] = make_float2(v[base + 3].y, -v[base + 3].x);
    butterfly(v[base], v[base + 1]);
    butterfly(v[base + 2], v[base + 3]);
  }
}

extern "C" __global__ void __launch_bounds__(64) fft_radix8_64(const float2 *__restrict__ in, float2 *__restrict__ out,
                                                              int transforms) {
  __shared__ float2 exchange[8][8][9];
  int lane = threadIdx.x & 7, slot = threadIdx.x >> 3;
  int transform = blockIdx.x * 8 + slot;
  bool active = transform < transforms;
  float2 v[8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    v[i] = active ? in[transform * 64 + i * 8 + lane] : make_float2(0.0f, 0.0f);
  fft8(v);
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    int reversed = (k & 1) << 2 | (k & 2) | k >> 2;
    exchange[slot][k][lane] = multiply(v[reversed], twiddle(k * lane));
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 8; ++i)
    v[i] = exchange[slot][lane][i];
  fft8(v);
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    int reversed = (k & 1) << 2 | (k & 2) | k >> 2;
    if (active)
      out[transform * 64 + k * 8 + lane] = v[reversed];
  }
}
