// 256-bin histogram of bytes: privatised in shared memory with atomics, merged into global memory at the end.
// Reads four bytes a load through uchar4, with a scalar tail; shared and global integer atomics.
#include "oriel_cuda.h"

extern "C" __global__ void histogram_256(const unsigned char *__restrict__ data, int n, unsigned *__restrict__ bins) {
  __shared__ unsigned local_bins[256];
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
    local_bins[bin] = 0;
  __syncthreads();

  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  int threads = gridDim.x * blockDim.x;
  const uchar4 *quads = reinterpret_cast<const uchar4 *>(data);
  for (int i = thread; i < n / 4; i += threads) {
    uchar4 quad = quads[i];
    atomicAdd(&local_bins[quad.x], 1u);
    atomicAdd(&local_bins[quad.y], 1u);
    atomicAdd(&local_bins[quad.z], 1u);
    atomicAdd(&local_bins[quad.w], 1u);
  }
  int tail = n / 4 * 4 + thread;
  if (tail < n)
    atomicAdd(&local_bins[data[tail]], 1u);
  __syncthreads();

  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
    if (unsigned count = local_bins[bin])
      atomicAdd(&bins[bin], count);
}
