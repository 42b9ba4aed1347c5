// SHA-256 of many short messages, one message a thread, padding included; and a proof-of-work nonce search.
// A 16-word rolling schedule in registers through 64 rounds, rotates by funnel shifts, round constants in memory.
#include "oriel_cuda.h"

__constant__ unsigned round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

__device__ __forceinline__ unsigned rotate_right(unsigned x, int n) { return __funnelshift_r(x, x, n); }

__device__ __forceinline__ void sha256_block(unsigned (&state)[8], unsigned (&w)[16]) {
  unsigned a = state[0], b = state[1], c = state[2], d = state[3];
  unsigned e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll 16
  for (int i = 0; i < 64; ++i) {
    unsigned s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
    unsigned t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i & 15];
    unsigned s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
    unsigned t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    unsigned w1 = w[(i + 1) & 15], w14 = w[(i + 14) & 15];
    w[i & 15] += (rotate_right(w1, 7) ^ rotate_right(w1, 18) ^ w1 >> 3) + w[(i + 9) & 15] +
                 (rotate_right(w14, 17) ^ rotate_right(w14, 19) ^ w14 >> 10);
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

__device__ __forceinline__ void sha256_start(unsigned (&state)[8]) {
  state[0] = 0x6a09e667, state[1] = 0xbb67ae85, state[2] = 0x3c6ef372, state[3] = 0xa54ff53a;
  state[4] = 0x510e527f, state[5] = 0x9b05688c, state[6] = 0x1f83d9ab, state[7] = 0x5be0cd19;
}

// Messages of `length` bytes, at most 55, so that each fits one block with its padding.
extern "C" __global__ void sha256_messages(const unsigned char *__restrict__ messages, int length, int count,
                                           unsigned *__restrict__ digests) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  unsigned w[16];
#pragma unroll
  for (int word = 0; word < 16; ++word) {
    unsigned value = 0;
#pragma unroll
    for (int byte = 0; byte < 4; ++byte) {
      int at = 4 * word + byte;
      value = value << 8 | (at < length ? messages[i * length + at] : at == length ? 0x80u : 0u);
    }
    w[word] = value;
  }
  w[15] = 8 * length;
  unsigned state[8];
  sha256_start(state);
  sha256_block(state, w);
#pragma unroll
  for (int word = 0; word < 8; ++word)
    digests[8 * i + word] = state[word];
}

// Finds the lowest nonce whose digest begins with `zero_bits` zero bits.
extern "C" __global__ void sha256_search(unsigned seed, int zero_bits, int attempts, unsigned *best) {
  unsigned nonce = (blockIdx.x * blockDim.x + threadIdx.x) * attempts;
  for (int i = 0; i < attempts; ++i, ++nonce) {
    unsigned w[16] = {seed, nonce, 0x80000000u};
    w[15] = 64;
    unsigned state[8];
    sha256_start(state);
    sha256_block(state, w);
    if (__clz((int)state[0]) >= zero_bits) {
      atomicMin(best, nonce);
      break;
    }
  }
}
