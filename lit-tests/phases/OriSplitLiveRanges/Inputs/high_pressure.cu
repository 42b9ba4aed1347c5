// Kernels with high register pressure, each for another reason; scripts/measure_splitting.py splits their live ranges.
#include "oriel_cuda.h"

// Sixty-four sums in a loop, and twelve parameters that are needed behind it only.
extern "C" __global__ void parameters_behind_loop(const float *a, const float *b, float *c, int n, int p0, int p1, int p2,
                                                  int p3, int p4, int p5, int p6, int p7, float *d, float *e) {
  float sum[64] = {};
  for (int k = 0; k < n; ++k) {
    float row[8], column[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      row[i] = a[k * 8 + i];
      column[i] = b[k * 8 + i];
    }
#pragma unroll
    for (int i = 0; i < 64; ++i)
      sum[i] = fmaf(row[i / 8], column[i % 8], sum[i]);
  }
  int t = threadIdx.x + blockIdx.x * blockDim.x;
#pragma unroll
  for (int i = 0; i < 64; ++i)
    c[t * 64 + i] = sum[i];
  d[t] = float(p0 * p1 + p2 * p3);
  e[t] = float(p4 * p5 + p6 * p7);
}

// Addresses of one base with different strides, computed before a loop and used before and behind it.
extern "C" __global__ void addresses_around_loop(float *a, int n) {
  int t = threadIdx.x;
  float sum[48] = {};
  float *place[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    place[i] = a + (t ^ (i * 4));
    *place[i] = float(i);
  }
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    float value = a[k * 64 + t];
#pragma unroll
    for (int i = 0; i < 48; ++i)
      sum[i] = fmaf(value, sum[i], float(i) + value);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 16; ++i)
    *place[i] = sum[i] + sum[i + 16] + sum[i + 32];
}

// Straight-line code: all loads first, their uses in reverse, and parameters used at both ends.
extern "C" __global__ void loads_first(const float *a, float *b, float scale, float offset, int shift) {
  int t = threadIdx.x + blockIdx.x * blockDim.x;
  float value[96];
  b[t] = scale + offset;
#pragma unroll
  for (int i = 0; i < 96; ++i)
    value[i] = a[t + i * 256];
  float sum = 0.0f;
#pragma unroll
  for (int i = 95; i >= 0; --i) {
    sum = fmaf(sum, value[i], value[95 - i] * float(i + shift));
    b[t + i * 256] = sum * scale + offset;
  }
}

// Doubles with many masks of the thread's number that are used in every round of a loop.
extern "C" __global__ void masks_in_loop(double *a, int n) {
  int t = threadIdx.x;
  double sum[32] = {};
  unsigned mask[16];
#pragma unroll
  for (int i = 0; i < 16; ++i)
    mask[i] = (t >> (i % 5)) & (i * 3 + 1);
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < 32; ++i)
      sum[i] = fma(a[(k + mask[i % 16]) & 1023], sum[(i + 1) % 32], sum[i]);
  }
#pragma unroll
  for (int i = 0; i < 32; ++i)
    a[t * 32 + i] = sum[i];
}
