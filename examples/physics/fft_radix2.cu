// 256-point complex FFT a block, radix 2, decimation in time, in shared memory with a bit-reversed load.
// Sine and cosine approximations in the inner loop, bit reversal, a barrier a stage, complex arithmetic on float2.
#include "oriel_cuda.h"

constexpr int POINTS = 256;
constexpr int LOG2_POINTS = 8;

extern "C" __global__ void __launch_bounds__(POINTS / 2)
    fft_radix2_256(const float2 *__restrict__ in, float2 *__restrict__ out, float direction) {
  __shared__ float2 data[POINTS];
  int thread = threadIdx.x;
  const float2 *source = in + blockIdx.x * POINTS;
  for (int i = thread; i < POINTS; i += POINTS / 2)
    data[__brev(i) >> (32 - LOG2_POINTS)] = source[i];
  __syncthreads();
  for (int half = 1; half < POINTS; half *= 2) {
    int position = thread & (half - 1);
    int low = 2 * (thread - position) + position;
    float angle = direction * 3.14159265358979f * position / half;
    float cosine = __cosf(angle), sine = __sinf(angle);
    float2 a = data[low], b = data[low + half];
    float2 rotated = make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
    data[low] = make_float2(a.x + rotated.x, a.y + rotated.y);
    data[low + half] = make_float2(a.x - rotated.x, a.y - rotated.y);
    __syncthreads();
  }
  for (int i = thread; i < POINTS; i += POINTS / 2)
    out[blockIdx.x * POINTS + i] = data[i];
}
