// Decoder of an LZ77 byte format, one independent stream a thread: literal runs and overlapping back references.
// Byte loads and stores, variable-length fields, loops with several exits, an error code for malformed input.
#include "oriel_cuda.h"

// Token: high nibble = literal count, low nibble = match length - 4, each extended by bytes while it is 15 (or the
// byte 255); then the literals, then a two-byte distance. The last token of a stream has no match.
__device__ int read_length(const unsigned char *in, int &at, int end, int nibble) {
  int length = nibble;
  if (nibble == 15) {
    int byte;
    do {
      if (at >= end)
        return -1;
      byte = in[at++];
      length += byte;
    } while (byte == 255);
  }
  return length;
}

extern "C" __global__ void lz_decode(const unsigned char *__restrict__ streams, const int *__restrict__ stream_start,
                                     int count, unsigned char *out, int out_stride, int *__restrict__ decoded) {
  int stream = blockIdx.x * blockDim.x + threadIdx.x;
  if (stream >= count)
    return;
  int at = stream_start[stream], end = stream_start[stream + 1];
  unsigned char *target = out + stream * out_stride;
  int written = 0;
  while (at < end) {
    int token = streams[at++];
    int literals = read_length(streams, at, end, token >> 4);
    if (literals < 0 || at + literals > end || written + literals > out_stride) {
      written = -1;
      break;
    }
    for (int i = 0; i < literals; ++i)
      target[written++] = streams[at++];
    if (at == end)
      break;
    if (at + 2 > end) {
      written = -2;
      break;
    }
    int distance = streams[at] | streams[at + 1] << 8;
    at += 2;
    int match = read_length(streams, at, end, token & 15);
    if (match < 0 || distance == 0 || distance > written || written + match + 4 > out_stride) {
      written = -3;
      break;
    }
    // Byte by byte: a reference may overlap what it writes.
    for (int i = 0; i < match + 4; ++i, ++written)
      target[written] = target[written - distance];
  }
  decoded[stream] = written;
}
