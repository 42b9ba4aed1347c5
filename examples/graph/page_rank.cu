// One iteration of PageRank in push form, and the difference between two iterations.
// Floating point atomic adds scattered over memory; a guarded division by the out-degree.
#include "oriel_cuda.h"

extern "C" __global__ void page_rank_push(const int *__restrict__ row_start, const int *__restrict__ targets,
                                          const float *__restrict__ rank, float *next, int vertices, float damping) {
  int vertex = blockIdx.x * blockDim.x + threadIdx.x;
  if (vertex >= vertices)
    return;
  int begin = row_start[vertex], end = row_start[vertex + 1];
  if (begin == end)
    return;
  float share = damping * rank[vertex] / (end - begin);
  for (int edge = begin; edge < end; ++edge)
    atomicAdd(&next[targets[edge]], share);
}

extern "C" __global__ void page_rank_change(const float *__restrict__ rank, const float *__restrict__ next,
                                            int vertices, int *changed) {
  int vertex = blockIdx.x * blockDim.x + threadIdx.x;
  bool moved = vertex < vertices && fabsf(rank[vertex] - next[vertex]) > 1e-3f;
  int count = __syncthreads_count(moved);
  if (threadIdx.x == 0)
    atomicAdd(changed, count);
}
