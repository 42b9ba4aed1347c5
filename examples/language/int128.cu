// 128-bit integers: multiplication, shifts by a variable, comparison, addition, and division by a loop of its own.
// Values of two 64-bit registers, carries, selects between words; modular exponentiation with 128-bit products.
#include "oriel_cuda.h"

typedef unsigned __int128 uint128;

__device__ __forceinline__ uint128 join(unsigned long long high, unsigned long long low) {
  return (uint128)high << 64 | low;
}

extern "C" __global__ void int128_arithmetic(const unsigned long long *__restrict__ a,
                                             const unsigned long long *__restrict__ b,
                                             unsigned long long *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  uint128 x = join(a[2 * i + 1], a[2 * i]), y = join(b[2 * i + 1], b[2 * i]);
  uint128 product = x * y, sum = x + y, difference = x - y;
  uint128 shifted = x << (int)(b[2 * i] & 127);
  __int128 arithmetic = (__int128)x >> (int)(b[2 * i + 1] & 127);
  uint128 larger = x > y ? x : y;
  uint128 mixed = product ^ sum ^ difference ^ shifted ^ (uint128)arithmetic ^ larger;
  out[2 * i] = (unsigned long long)mixed;
  out[2 * i + 1] = (unsigned long long)(mixed >> 64);
}

// Quotient of a 128-bit number by a 64-bit divisor above its high word, bit by bit.
__device__ unsigned long long divide(uint128 dividend, unsigned long long divisor, unsigned long long &remainder) {
  unsigned long long quotient = 0, rest = (unsigned long long)(dividend >> 64);
  for (int bit = 63; bit >= 0; --bit) {
    bool carry = rest >> 63;
    rest = rest << 1 | ((unsigned long long)dividend >> bit & 1);
    quotient <<= 1;
    if (carry || rest >= divisor) {
      rest -= divisor;
      quotient |= 1;
    }
  }
  remainder = rest;
  return quotient;
}

extern "C" __global__ void modular_power(const unsigned long long *__restrict__ bases,
                                         unsigned long long *__restrict__ out, unsigned exponent,
                                         unsigned long long modulus, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned long long base = bases[i] % modulus, result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1)
      divide((uint128)result * base, modulus, result);
    divide((uint128)base * base, modulus, base);
  }
  out[i] = result;
}
