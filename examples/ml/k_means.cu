// k-means clustering: assigns points to the nearest centroid, sums the members, recomputes the centroids.
// Centroids in shared memory, a running minimum with its index, float atomics, a divide guarded against empty clusters.
#include "oriel_cuda.h"

constexpr int LARGEST_K = 16;

extern "C" __global__ void k_means_assign(const float2 *__restrict__ points, int n, const float2 *__restrict__ centroids,
                                          int k, int *__restrict__ labels, float *sums, int *counts) {
  __shared__ float2 shared_centroids[LARGEST_K];
  if (threadIdx.x < k)
    shared_centroids[threadIdx.x] = centroids[threadIdx.x];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float2 point = points[i];
  float nearest = FLT_MAX;
  int label = 0;
  for (int c = 0; c < k; ++c) {
    float dx = point.x - shared_centroids[c].x, dy = point.y - shared_centroids[c].y;
    float square = dx * dx + dy * dy;
    if (square < nearest) {
      nearest = square;
      label = c;
    }
  }
  labels[i] = label;
  atomicAdd(&sums[2 * label], point.x);
  atomicAdd(&sums[2 * label + 1], point.y);
  atomicAdd(&counts[label], 1);
}

extern "C" __global__ void k_means_update(float2 *__restrict__ centroids, float *sums, int *counts, int k) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= k)
    return;
  int count = counts[c];
  if (count > 0)
    centroids[c] = make_float2(sums[2 * c] / count, sums[2 * c + 1] / count);
  sums[2 * c] = sums[2 * c + 1] = 0.0f;
  counts[c] = 0;
}
