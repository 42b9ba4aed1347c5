// Softmax over rows: a block a row with a two-step reduction, and a warp a row that keeps the row in registers.
// Maximum and sum by shuffles, an exponential an element, a register array whose loop is unrolled and predicated.
#include "oriel_cuda.h"

__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  return value;
}

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, lanes);
  return value;
}

extern "C" __global__ void __launch_bounds__(128)
    softmax_block(const float *__restrict__ in, float *__restrict__ out, int columns) {
  __shared__ float warp_values[4];
  const float *row = in + blockIdx.x * columns;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;

  float largest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += 128)
    largest = fmaxf(largest, row[i]);
  largest = warp_max(largest);
  if (lane == 0)
    warp_values[warp] = largest;
  __syncthreads();
  largest = fmaxf(fmaxf(warp_values[0], warp_values[1]), fmaxf(warp_values[2], warp_values[3]));
  __syncthreads();

  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 128)
    sum += __expf(row[i] - largest);
  sum = warp_sum(sum);
  if (lane == 0)
    warp_values[warp] = sum;
  __syncthreads();
  float inverse = 1.0f / (warp_values[0] + warp_values[1] + warp_values[2] + warp_values[3]);
  for (int i = threadIdx.x; i < columns; i += 128)
    out[blockIdx.x * columns + i] = __expf(row[i] - largest) * inverse;
}

template <int PER_LANE>
__device__ __forceinline__ void softmax_registers(const float *__restrict__ in, float *__restrict__ out, int rows,
                                                  int columns) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  float value[PER_LANE], largest = -INFINITY, sum = 0.0f;
#pragma unroll
  for (int i = 0; i < PER_LANE; ++i) {
    int column = lane + 32 * i;
    value[i] = column < columns ? in[row * columns + column] : -INFINITY;
    largest = fmaxf(largest, value[i]);
  }
  largest = warp_max(largest);
#pragma unroll
  for (int i = 0; i < PER_LANE; ++i) {
    value[i] = __expf(value[i] - largest);
    sum += value[i];
  }
  sum = warp_sum(sum);
#pragma unroll
  for (int i = 0; i < PER_LANE; ++i)
    if (int column = lane + 32 * i; column < columns)
      out[row * columns + column] = __fdividef(value[i], sum);
}

extern "C" __global__ void softmax_warp_128(const float *__restrict__ in, float *__restrict__ out, int rows, int columns) {
  softmax_registers<4>(in, out, rows, columns);
}

extern "C" __global__ void softmax_warp_512(const float *__restrict__ in, float *__restrict__ out, int rows, int columns) {
  softmax_registers<16>(in, out, rows, columns);
}
