// Bit manipulation: Morton codes, reversal, next permutation, Gray code, parallel population count, bit matrix transpose.
// Chains of and, or, shift and xor that fold into lop3 and bit-field operations; count of leading zeros and of bits.
#include "oriel_cuda.h"

__device__ __forceinline__ unsigned spread(unsigned x) {
  x &= 0xffff;
  x = (x | x << 8) & 0x00ff00ff;
  x = (x | x << 4) & 0x0f0f0f0f;
  x = (x | x << 2) & 0x33333333;
  return (x | x << 1) & 0x55555555;
}

extern "C" __global__ void bit_tricks(const unsigned *__restrict__ in, unsigned *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned x = in[i];
  unsigned morton = spread(x) | spread(x >> 16) << 1;
  unsigned gray = x ^ x >> 1;
  unsigned ungray = x;
#pragma unroll
  for (int shift = 16; shift > 0; shift >>= 1)
    ungray ^= ungray >> shift;
  unsigned lowest = x & -x, ripple = x + lowest;
  unsigned next = x == 0 ? 0 : ((((x ^ ripple) >> 2) >> (__ffs((int)lowest) - 1)) | ripple);
  unsigned majority = (x & gray) | (x & ungray) | (gray & ungray);
  unsigned rounded_up = x <= 1 ? 1 : __clz((int)(x - 1)) == 0 ? 0 : 1u << (32 - __clz((int)(x - 1)));
  unsigned *target = out + 8 * i;
  target[0] = morton;
  target[1] = gray;
  target[2] = ungray;
  target[3] = next;
  target[4] = majority;
  target[5] = __brev(x) ^ __byte_perm(x, gray, 0x0426);
  target[6] = rounded_up;
  target[7] = __popc(x) | __clz((int)x) << 8 | __popcll((unsigned long long)x << 7 | gray) << 16;
}

// Transposes a 32x32 bit matrix a warp, with five rounds of masked swaps between lanes.
extern "C" __global__ void transpose_bits(const unsigned *__restrict__ in, unsigned *__restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned row = in[i], mask = 0x0000ffff;
#pragma unroll
  for (int distance = 16; distance > 0; distance >>= 1) {
    unsigned other = __shfl_xor_sync(0xffffffffu, (int)row, distance);
    row = threadIdx.x & distance ? (row & ~mask) | (other >> distance & mask) : (row & mask) | (other << distance & ~mask);
    mask ^= mask << (distance >> 1);
  }
  out[i] = row;
}
