// Attention with an online softmax: a block a tile of queries, keys and values streamed through shared memory.
// A rescaled accumulator of sixteen registers a thread, an exponential in the inner loop, dynamic shared memory.
#include "oriel_cuda.h"

constexpr int DIMENSION = 16;
constexpr int TILE = 32;

extern __shared__ float attention_scratch[];

extern "C" __global__ void __launch_bounds__(TILE, 16)
    attention_tile(const float *__restrict__ queries, const float *__restrict__ keys, const float *__restrict__ values,
                   float *__restrict__ out, int query_count, int key_count, float scale, int causal) {
  float(*key_tile)[DIMENSION] = reinterpret_cast<float(*)[DIMENSION]>(attention_scratch);
  float(*value_tile)[DIMENSION] = key_tile + TILE;
  int query = blockIdx.x * TILE + threadIdx.x;

  float q[DIMENSION], accumulator[DIMENSION];
#pragma unroll
  for (int d = 0; d < DIMENSION; ++d) {
    q[d] = query < query_count ? queries[query * DIMENSION + d] * scale : 0.0f;
    accumulator[d] = 0.0f;
  }
  float largest = -INFINITY, sum = 0.0f;
  for (int base = 0; base < key_count; base += TILE) {
    __syncthreads();
    for (int i = threadIdx.x; i < TILE * DIMENSION; i += TILE) {
      int key = base + i / DIMENSION;
      key_tile[i / DIMENSION][i % DIMENSION] = key < key_count ? keys[base * DIMENSION + i] : 0.0f;
      value_tile[i / DIMENSION][i % DIMENSION] = key < key_count ? values[base * DIMENSION + i] : 0.0f;
    }
    __syncthreads();
    int end = min(TILE, key_count - base);
    if (causal)
      end = min(end, query - base + 1);
    for (int j = 0; j < end; ++j) {
      float score = 0.0f;
#pragma unroll
      for (int d = 0; d < DIMENSION; ++d)
        score = fmaf(q[d], key_tile[j][d], score);
      float next_largest = fmaxf(largest, score);
      float rescale = __expf(largest - next_largest), share = __expf(score - next_largest);
      largest = next_largest;
      sum = sum * rescale + share;
#pragma unroll
      for (int d = 0; d < DIMENSION; ++d)
        accumulator[d] = accumulator[d] * rescale + share * value_tile[j][d];
    }
  }
  if (query >= query_count)
    return;
  float4 *target = reinterpret_cast<float4 *>(out + query * DIMENSION);
  float inverse = 1.0f / sum;
#pragma unroll
  for (int d = 0; d < DIMENSION; d += 4)
    target[d / 4] = make_float4(accumulator[d] * inverse, accumulator[d + 1] * inverse, accumulator[d + 2] * inverse,
                                accumulator[d + 3] * inverse);
}
