// Local arrays that must live in memory: indices known only at run time, an address passed to a function.
// The stack frame (.local depot), byte and word accesses of one array, a ring buffer, a permutation.
#include "oriel_cuda.h"

__device__ __no_inline__ void reverse(int *values, int count) {
  for (int low = 0, high = count - 1; low < high; ++low, --high) {
    int swap = values[low];
    values[low] = values[high];
    values[high] = swap;
  }
}

extern "C" __global__ void permute_locally(const int *__restrict__ in, const int *__restrict__ order,
                                           int *__restrict__ out, int width, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int values[16];
  for (int j = 0; j < width; ++j)
    values[order[i * width + j] & 15] = in[i * width + j];
  reverse(values, width);
  for (int j = 0; j < width; ++j)
    out[i * width + j] = values[j];
}

extern "C" __global__ void moving_median(const short *__restrict__ in, short *__restrict__ out, int length, int series) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= series)
    return;
  constexpr int WINDOW = 5;
  short ring[WINDOW] = {};
  for (int t = 0; t < length; ++t) {
    ring[t % WINDOW] = in[t * series + i];
    short sorted[WINDOW];
    for (int j = 0; j < WINDOW; ++j) {
      int place = j;
      for (; place > 0 && sorted[place - 1] > ring[j]; --place)
        sorted[place] = sorted[place - 1];
      sorted[place] = ring[j];
    }
    out[t * series + i] = sorted[WINDOW / 2];
  }
}

extern "C" __global__ void digit_counts(const unsigned long long *__restrict__ in, unsigned *__restrict__ packed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned char counts[16] = {};
  for (unsigned long long rest = in[i]; rest != 0; rest >>= 4)
    ++counts[rest & 15];
  const unsigned *words = reinterpret_cast<const unsigned *>(counts);
  for (int word = 0; word < 4; ++word) {
    unsigned value;
    __builtin_memcpy(&value, words + word, 4);
    packed[4 * i + word] = value;
  }
}
