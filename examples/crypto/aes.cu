// AES-128 in counter mode with one round table in constant memory that the compiler computes.
// Data-dependent constant loads, byte selection and rotates, ten rounds, the last one different; the key is expanded once.
#include "oriel_cuda.h"

struct AesTables {
  unsigned char sbox[256];
  unsigned round[256];

  constexpr AesTables() : sbox(), round() {
    // p runs through the field's nonzero elements as powers of 3, q through their inverses.
    unsigned char p = 1, q = 1;
    do {
      p = (unsigned char)(p ^ (p << 1) ^ (p & 0x80 ? 0x1b : 0));
      q = (unsigned char)(q ^ q << 1);
      q = (unsigned char)(q ^ q << 2);
      q = (unsigned char)(q ^ q << 4);
      q = (unsigned char)(q ^ (q & 0x80 ? 0x09 : 0));
      sbox[p] = (unsigned char)(q ^ rotated(q, 1) ^ rotated(q, 2) ^ rotated(q, 3) ^ rotated(q, 4) ^ 0x63);
    } while (p != 1);
    sbox[0] = 0x63;
    for (int i = 0; i < 256; ++i) {
      unsigned s = sbox[i];
      unsigned doubled = (s << 1 ^ (s & 0x80 ? 0x11b : 0)) & 0xff;
      round[i] = doubled | s << 8 | s << 16 | (doubled ^ s) << 24;
    }
  }
  static constexpr unsigned char rotated(unsigned char x, int n) { return (unsigned char)(x << n | x >> (8 - n)); }
};

__constant__ AesTables tables;

__device__ __forceinline__ unsigned sub_word(unsigned x) {
  return tables.sbox[x & 255] | tables.sbox[x >> 8 & 255] << 8 | tables.sbox[x >> 16 & 255] << 16 |
         (unsigned)tables.sbox[x >> 24] << 24;
}

extern "C" __global__ void aes128_expand_key(const unsigned *__restrict__ key, unsigned *__restrict__ round_keys) {
  if (blockIdx.x * blockDim.x + threadIdx.x != 0)
    return;
  unsigned k[4] = {key[0], key[1], key[2], key[3]};
  unsigned constant = 1;
  for (int round = 0; round <= 10; ++round) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      round_keys[4 * round + i] = k[i];
    k[0] ^= sub_word(k[3] >> 8 | k[3] << 24) ^ constant;
    k[1] ^= k[0];
    k[2] ^= k[1];
    k[3] ^= k[2];
    constant = (constant << 1 ^ (constant & 0x80 ? 0x11b : 0)) & 0xff;
  }
}

__device__ __forceinline__ unsigned column(unsigned a, unsigned b, unsigned c, unsigned d, unsigned key) {
  unsigned tb = tables.round[b >> 8 & 255], tc = tables.round[c >> 16 & 255], td = tables.round[d >> 24];
  return tables.round[a & 255] ^ (tb << 8 | tb >> 24) ^ (tc << 16 | tc >> 16) ^ (td << 24 | td >> 8) ^ key;
}

__device__ __forceinline__ unsigned last_column(unsigned a, unsigned b, unsigned c, unsigned d, unsigned key) {
  return ((a & 0xff) | (b & 0xff00) | (c & 0xff0000) | (d & 0xff000000u)) ^ key;
}

extern "C" __global__ void __launch_bounds__(64)
    aes128_counter(const uint4 *__restrict__ round_keys, uint2 nonce, uint4 *__restrict__ data, int blocks) {
  __shared__ uint4 keys[11];
  if (threadIdx.x < 11)
    keys[threadIdx.x] = round_keys[threadIdx.x];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= blocks)
    return;
  uint4 s = make_uint4(nonce.x ^ keys[0].x, nonce.y ^ keys[0].y, (unsigned)i ^ keys[0].z, keys[0].w);
#pragma unroll 3
  for (int round = 1; round < 10; ++round) {
    uint4 k = keys[round];
    s = make_uint4(column(s.x, s.y, s.z, s.w, k.x), column(s.y, s.z, s.w, s.x, k.y), column(s.z, s.w, s.x, s.y, k.z),
                   column(s.w, s.x, s.y, s.z, k.w));
  }
  s = make_uint4(sub_word(s.x), sub_word(s.y), sub_word(s.z), sub_word(s.w));
  uint4 k = keys[10], text = data[i];
  data[i] = make_uint4(text.x ^ last_column(s.x, s.y, s.z, s.w, k.x), text.y ^ last_column(s.y, s.z, s.w, s.x, k.y),
                       text.z ^ last_column(s.z, s.w, s.x, s.y, k.z), text.w ^ last_column(s.w, s.x, s.y, s.z, k.w));
}
