// Edit distance of two strings by anti-diagonals, a block a pair; a row-by-row form with a local array beside it.
// Three rotating shared buffers, a barrier a diagonal, a local array with dynamic indices, a chain of minima.
#include "oriel_cuda.h"

constexpr int LONGEST = 64;

extern "C" __global__ void __launch_bounds__(LONGEST)
    levenshtein_diagonal(const unsigned char *__restrict__ a, const unsigned char *__restrict__ b, int length_a,
                         int length_b, int *__restrict__ distance) {
  __shared__ int diagonals[3][LONGEST + 1];
  const unsigned char *left = a + blockIdx.x * length_a, *right = b + blockIdx.x * length_b;
  int i = threadIdx.x + 1;
  for (int diagonal = 0; diagonal <= length_a + length_b; ++diagonal) {
    int *current = diagonals[diagonal % 3];
    const int *previous = diagonals[(diagonal + 2) % 3], *before = diagonals[(diagonal + 1) % 3];
    int j = diagonal - i;
    if (threadIdx.x == 0 && diagonal <= length_b)
      current[0] = diagonal;
    if (i <= length_a && j >= 0 && j <= length_b) {
      if (j == 0)
        current[i] = i;
      else
        current[i] = min(min(previous[i], previous[i - 1]) + 1, before[i - 1] + (left[i - 1] != right[j - 1]));
    }
    __syncthreads();
  }
  if (threadIdx.x == 0)
    distance[blockIdx.x] = diagonals[(length_a + length_b) % 3][length_a];
}

extern "C" __global__ void levenshtein_row(const unsigned char *__restrict__ a, const unsigned char *__restrict__ b,
                                           int length_a, int length_b, int pairs, int *__restrict__ distance) {
  int pair = blockIdx.x * blockDim.x + threadIdx.x;
  if (pair >= pairs)
    return;
  unsigned char row[LONGEST + 1];
  for (int j = 0; j <= length_b; ++j)
    row[j] = j;
  for (int i = 1; i <= length_a; ++i) {
    int diagonal = row[0];
    row[0] = i;
    unsigned char letter = a[pair * length_a + i - 1];
    for (int j = 1; j <= length_b; ++j) {
      int above = row[j];
      int best = min(min(above, (int)row[j - 1]) + 1, diagonal + (letter != b[pair * length_b + j - 1]));
      diagonal = above;
      row[j] = best;
    }
  }
  distance[pair] = row[length_b];
}
