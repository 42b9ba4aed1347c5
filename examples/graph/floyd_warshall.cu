// All-pairs shortest paths: one intermediate vertex a launch over a dense distance matrix.
// Integer minimum, a saturating infinity, a two-dimensional grid, a value shared by a row of the block.
#include "oriel_cuda.h"

constexpr int UNREACHABLE = 0x3fffffff;

extern "C" __global__ void floyd_warshall_step(int *distance, int n, int via) {
  __shared__ int to_via[8];
  int column = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (threadIdx.x == 0 && row < n)
    to_via[threadIdx.y] = distance[row * n + via];
  __syncthreads();
  if (row >= n || column >= n)
    return;
  int first = to_via[threadIdx.y];
  if (first >= UNREACHABLE)
    return;
  int candidate = first + distance[via * n + column];
  if (candidate < distance[row * n + column])
    distance[row * n + column] = candidate;
}
