// Canonical Huffman decoding of independent bit streams, one a thread, with a bit buffer of 64 bits.
// Bit fields across word boundaries, a search by code length with an early exit, tables in constant memory.
#include "oriel_cuda.h"

// Codes of 2, 3 and 4 bits: first code, first symbol index and number of codes of each length.
__constant__ int first_code[5] = {0, 0, 0, 2, 12};
__constant__ int first_symbol[5] = {0, 0, 0, 1, 5};
__constant__ int code_count[5] = {0, 0, 1, 4, 4};
__constant__ unsigned char symbols[9] = {'e', 't', 'a', 'o', 'n', 'i', 's', 'r', 'h'};

extern "C" __global__ void huffman_decode(const unsigned *__restrict__ words, int words_per_stream, int streams,
                                          unsigned char *__restrict__ out, int symbols_per_stream) {
  int stream = blockIdx.x * blockDim.x + threadIdx.x;
  if (stream >= streams)
    return;
  const unsigned *source = words + stream * words_per_stream;
  unsigned long long buffer = 0;
  int available = 0, next_word = 0;
  for (int i = 0; i < symbols_per_stream; ++i) {
    if (available < 32 && next_word < words_per_stream) {
      buffer |= (unsigned long long)source[next_word++] << (32 - available);
      available += 32;
    }
    int length = 2;
    int symbol = -1;
    for (; length <= 4; ++length) {
      int code = (int)(buffer >> (64 - length)) - first_code[length];
      if (code >= 0 && code < code_count[length]) {
        symbol = first_symbol[length] + code;
        break;
      }
    }
    if (symbol < 0 || available < length) {
      out[stream * symbols_per_stream + i] = '?';
      break;
    }
    out[stream * symbols_per_stream + i] = symbols[symbol];
    buffer <<= length;
    available -= length;
  }
}
