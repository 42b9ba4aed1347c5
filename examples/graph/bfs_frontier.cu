// One level of a breadth-first search: expands the frontier and appends newly reached vertices to the next one.
// Compare-and-swap to claim a vertex, an atomic append, a loop over an adjacency list of varying length.
#include "oriel_cuda.h"

extern "C" __global__ void bfs_expand(const int *__restrict__ row_start, const int *__restrict__ neighbours,
                                      const int *__restrict__ frontier, const int *__restrict__ frontier_size,
                                      int *distance, int *next_frontier, int *next_size, int level) {
  int size = *frontier_size;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    int vertex = frontier[i];
    for (int edge = row_start[vertex]; edge < row_start[vertex + 1]; ++edge) {
      int neighbour = neighbours[edge];
      if (distance[neighbour] != -1)
        continue;
      if (atomicCAS(&distance[neighbour], -1, level) == -1)
        next_frontier[atomicAdd(next_size, 1)] = neighbour;
    }
  }
}
