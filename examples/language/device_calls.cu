// Calls that stay calls: functions kept out of line, structs passed and returned by value, a call in a loop.
// PTX call sequences with parameter space, values live across a call, a convergent call under a condition.
#include "oriel_cuda.h"

struct Complex {
  double re, im;
};

struct Statistics {
  int count;
  float smallest, largest;
  double total;
};

__device__ __no_inline__ Complex multiply(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__device__ __no_inline__ Statistics include(Statistics seen, float value) {
  seen.smallest = seen.count == 0 ? value : fminf(seen.smallest, value);
  seen.largest = seen.count == 0 ? value : fmaxf(seen.largest, value);
  seen.total += value;
  ++seen.count;
  return seen;
}

__device__ __no_inline__ int greatest_common_divisor(int a, int b) {
  while (b != 0) {
    int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

__device__ __no_inline__ float block_maximum(float value, float *scratch) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  float largest = scratch[0];
  for (unsigned i = 1; i < blockDim.x; ++i)
    largest = fmaxf(largest, scratch[i]);
  __syncthreads();
  return largest;
}

extern "C" __global__ void complex_power(const double2 *__restrict__ in, double2 *__restrict__ out, int exponent, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Complex base = {in[i].x, in[i].y}, result = {1.0, 0.0};
  for (int rest = exponent; rest > 0; rest >>= 1) {
    if (rest & 1)
      result = multiply(result, base);
    base = multiply(base, base);
  }
  out[i] = make_double2(result.re, result.im);
}

extern "C" __global__ void row_statistics(const float *__restrict__ in, int columns, int rows, Statistics *__restrict__ out) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  Statistics seen = {};
  for (int column = 0; column < columns; ++column)
    seen = include(seen, in[row * columns + column]);
  out[row] = seen;
}

extern "C" __global__ void normalize_and_reduce(const float *__restrict__ in, const int *__restrict__ numerators,
                                                float *__restrict__ out, int *__restrict__ divisors, int n) {
  __shared__ float scratch[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = i < n ? in[i] : 0.0f;
  float largest = block_maximum(value, scratch);
  if (i >= n)
    return;
  if (largest > 0.0f)
    value = value / largest;
  out[i] = value;
  divisors[i] = greatest_common_divisor(numerators[i], 360);
}
