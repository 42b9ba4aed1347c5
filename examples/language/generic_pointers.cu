// Generic pointers: one function that works on global, shared, constant and local memory, chosen at run time.
// Address space casts that can not be resolved, volatile accesses, a pointer kept in shared memory, global variables.
#include "oriel_cuda.h"

__constant__ int weights[8] = {1, -2, 3, -4, 5, -6, 7, -8};
__device__ int launch_counter = 100;
__device__ int mailbox[4];

__device__ __no_inline__ int weighted_sum(const int *values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i)
    sum += values[i] * weights[i & 7];
  return sum;
}

extern "C" __global__ void sum_anywhere(const int *__restrict__ in, int *__restrict__ out, int n) {
  __shared__ int staged[64];
  __shared__ const int *shared_pointer;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  staged[threadIdx.x] = i < n ? 3 * in[i] : 0;
  if (threadIdx.x == 0)
    shared_pointer = blockIdx.x % 2 == 0 ? in : staged;
  __syncthreads();
  if (i >= n)
    return;
  int local[4] = {i, i + 1, i ^ 5, (int)threadIdx.x};
  const int *source = i % 3 == 0 ? local : i % 3 == 1 ? staged : in;
  out[i] = weighted_sum(source, 4) + shared_pointer[i % 4];
}

extern "C" __global__ void volatile_and_globals(volatile int *flags, int *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    // Both reads must stay, and so must the store between them.
    int first = flags[i];
    flags[i] = first + 1;
    out[i] = first * 1000 + flags[i];
  }
  if (i < 4)
    mailbox[i] = i * i;
  __threadfence();
  if (i == 0)
    atomicAdd(&launch_counter, n);
}
