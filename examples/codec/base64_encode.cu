// Base64 encoding, three bytes to four characters a thread, with padding at the end.
// Ranges told apart by selects instead of a table, packed 32-bit stores, a tail of one or two bytes.
#include "oriel_cuda.h"

__device__ __forceinline__ unsigned character(unsigned six_bits) {
  unsigned offset = six_bits < 26 ? 'A' : six_bits < 52 ? 'a' - 26 : six_bits < 62 ? '0' - 52 : 0;
  return offset ? six_bits + offset : (six_bits == 62 ? '+' : '/');
}

extern "C" __global__ void base64_encode(const unsigned char *__restrict__ in, int bytes, unsigned *__restrict__ out) {
  int group = blockIdx.x * blockDim.x + threadIdx.x;
  int first = 3 * group;
  if (first >= bytes)
    return;
  int left = bytes - first;
  unsigned word = in[first] << 16;
  if (left > 1)
    word |= in[first + 1] << 8;
  if (left > 2)
    word |= in[first + 2];
  unsigned text = character(word >> 18) | character(word >> 12 & 63) << 8;
  text |= (left > 1 ? character(word >> 6 & 63) : '=') << 16;
  text |= (left > 2 ? character(word & 63) : '=') << 24;
  out[group] = text;
}
