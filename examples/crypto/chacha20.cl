// ChaCha20 key stream, one 64-byte block a work-item, exclusive-ored into the data.
// Sixteen state words through twenty rounds of add, exclusive or and rotate: pure integer register pressure.
#include "oriel_opencl.h"

#define QUARTER_ROUND(a, b, c, d)                                                                          \
  a += b, d = rotate(d ^ a, 16u);                                                                          \
  c += d, b = rotate(b ^ c, 12u);                                                                          \
  a += b, d = rotate(d ^ a, 8u);                                                                           \
  c += d, b = rotate(b ^ c, 7u)

__kernel void chacha20(__constant uint *key, uint nonce0, uint nonce1, uint nonce2, uint counter,
                       __global uint *restrict data, uint blocks) {
  uint block = (uint)get_global_id(0);
  if (block >= blocks)
    return;
  uint start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
#pragma unroll
  for (int i = 0; i < 8; ++i)
    start[4 + i] = key[i];
  start[12] = counter + block;
  start[13] = nonce0;
  start[14] = nonce1;
  start[15] = nonce2;
  uint x[16];
#pragma unroll
  for (int i = 0; i < 16; ++i)
    x[i] = start[i];
  for (int round = 0; round < 10; ++round) {
    QUARTER_ROUND(x[0], x[4], x[8], x[12]);
    QUARTER_ROUND(x[1], x[5], x[9], x[13]);
    QUARTER_ROUND(x[2], x[6], x[10], x[14]);
    QUARTER_ROUND(x[3], x[7], x[11], x[15]);
    QUARTER_ROUND(x[0], x[5], x[10], x[15]);
    QUARTER_ROUND(x[1], x[6], x[11], x[12]);
    QUARTER_ROUND(x[2], x[7], x[8], x[13]);
    QUARTER_ROUND(x[3], x[4], x[9], x[14]);
  }
#pragma unroll
  for (int i = 0; i < 16; ++i)
    data[block * 16 + i] ^= x[i] + start[i];
}
