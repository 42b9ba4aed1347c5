// 128-bit Fibonacci numbers, powers by a Montgomery ladder, a generator's last numbers: one asm statement a step.
// Early-clobber and read-write operands in loops where the results of one step are the inputs of the next.
#include "oriel_cuda.h"

struct wide {
  unsigned w[4];
};

// a += b, modulo 2^128. The sums are written while words of b are still to be read.
__device__ __forceinline__ void add(wide &a, const wide &b) {
  asm("add.cc.u32 %0, %0, %4;\n\t"
      "addc.cc.u32 %1, %1, %5;\n\t"
      "addc.cc.u32 %2, %2, %6;\n\t"
      "addc.u32 %3, %3, %7;"
      : "+&r"(a.w[0]), "+&r"(a.w[1]), "+&r"(a.w[2]), "+&r"(a.w[3])
      : "r"(b.w[0]), "r"(b.w[1]), "r"(b.w[2]), "r"(b.w[3]));
}

// a - b and, as all ones or zero, whether it borrowed.
__device__ __forceinline__ wide subtract(const wide &a, const wide &b, unsigned &borrow) {
  wide difference;
  asm volatile(
      "sub.cc.u32 %0, %5, %9;\n\t"
      "subc.cc.u32 %1, %6, %10;\n\t"
      "subc.cc.u32 %2, %7, %11;\n\t"
      "subc.cc.u32 %3, %8, %12;\n\t"
      "subc.u32 %4, 0, 0;"
      : "=&r"(difference.w[0]), "=&r"(difference.w[1]), "=&r"(difference.w[2]), "=&r"(difference.w[3]), "=r"(borrow)
      : "r"(a.w[0]), "r"(a.w[1]), "r"(a.w[2]), "r"(a.w[3]), "r"(b.w[0]), "r"(b.w[1]), "r"(b.w[2]), "r"(b.w[3]));
  return difference;
}

// All 128 bits of a 64-bit product, from four products of 32 bits.
__device__ __forceinline__ wide multiply(unsigned a0, unsigned a1, unsigned b0, unsigned b1) {
  wide p;
  asm("mul.lo.u32 %0, %4, %6;\n\t"
      "mul.hi.u32 %1, %4, %6;\n\t"
      "mul.lo.u32 %2, %5, %7;\n\t"
      "mul.hi.u32 %3, %5, %7;\n\t"
      "mad.lo.cc.u32 %1, %4, %7, %1;\n\t"
      "madc.hi.cc.u32 %2, %4, %7, %2;\n\t"
      "addc.u32 %3, %3, 0;\n\t"
      "mad.lo.cc.u32 %1, %5, %6, %1;\n\t"
      "madc.hi.cc.u32 %2, %5, %6, %2;\n\t"
      "addc.u32 %3, %3, 0;"
      : "=&r"(p.w[0]), "=&r"(p.w[1]), "=&r"(p.w[2]), "=&r"(p.w[3])
      : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
  return p;
}

__device__ __forceinline__ unsigned long long low_half(const wide &a) {
  return (unsigned long long)a.w[1] << 32 | a.w[0];
}

// x * y / 2^64 modulo m, for odd m and x, y below it; `inverse` is -1 / m modulo 2^64.
__device__ __forceinline__ unsigned long long montgomery(unsigned long long x, unsigned long long y,
                                                         unsigned long long m, unsigned long long inverse) {
  wide product = multiply((unsigned)x, (unsigned)(x >> 32), (unsigned)y, (unsigned)(y >> 32));
  unsigned long long q = low_half(product) * inverse;
  wide fix = multiply((unsigned)q, (unsigned)(q >> 32), (unsigned)m, (unsigned)(m >> 32));
  add(product, fix);
  wide high = {{product.w[2], product.w[3], 0, 0}}, modulus = {{(unsigned)m, (unsigned)(m >> 32), 0, 0}};
  unsigned borrow;
  wide reduced = subtract(high, modulus, borrow);
  return low_half(borrow ? high : reduced);
}

// The index-th Fibonacci number modulo 2^128, and the one before: the pair turns over in each step, through one
// statement.
extern "C" __global__ void fibonacci_128(const unsigned *__restrict__ indices, unsigned *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  wide current = {}, next = {{1, 0, 0, 0}};
  for (unsigned step = indices[i]; step > 0; --step) {
    wide before = next;
    add(next, current);
    current = before;
  }
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    out[8 * i + word] = current.w[word];
    out[8 * i + 4 + word] = next.w[word];
  }
}

// base ^ exponent modulo an odd number below 2^63, both in Montgomery form; `one` is 2^64 modulo it.
extern "C" __global__ void montgomery_power(const unsigned long long *__restrict__ bases,
                                            const unsigned *__restrict__ exponents,
                                            unsigned long long *__restrict__ out, unsigned long long modulus,
                                            unsigned long long inverse, unsigned long long one, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned long long low = one, high = bases[i] % modulus;
  for (int bit = 31; bit >= 0; --bit) {
    bool set = exponents[i] >> bit & 1;
    unsigned long long both = montgomery(low, high, modulus, inverse);
    unsigned long long squared = montgomery(set ? high : low, set ? high : low, modulus, inverse);
    low = set ? both : squared;
    high = set ? squared : both;
  }
  out[i] = low;
}

// The last number of a generator and the one before it, or `none` if there is only one. Each statement reads its input
// again after it has written its result, so the two never share a register, although both go round the loop.
extern "C" __global__ void last_two_numbers(const unsigned *__restrict__ seeds, const unsigned *__restrict__ steps,
                                            unsigned *__restrict__ out, unsigned none, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned state = seeds[i], newest = none, previous, next, left = steps[i];
  do {
    previous = newest;
    asm volatile("shl.b32 %0, %1, 13;\n\t"
                 "xor.b32 %0, %0, %1;\n\t"
                 "mad.lo.u32 %0, %0, 747796405, %1;"
                 : "=&r"(next)
                 : "r"(state));
    state = next;
    newest = next;
  } while (--left != 0);
  out[2 * i] = previous;
  out[2 * i + 1] = next;
}
