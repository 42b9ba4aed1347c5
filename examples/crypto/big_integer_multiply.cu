// 256-bit by 256-bit multiplication and 256-bit modular addition, one number a thread, 32-bit limbs.
// Carry chains through 64-bit sums, and the same addition with add.cc/addc in inline PTX; fully unrolled schoolbook.
#include "oriel_cuda.h"

constexpr int LIMBS = 8;

extern "C" __global__ void multiply_256(const unsigned *__restrict__ a, const unsigned *__restrict__ b,
                                        unsigned *__restrict__ product, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned x[LIMBS], y[LIMBS], result[2 * LIMBS] = {};
#pragma unroll
  for (int limb = 0; limb < LIMBS; ++limb) {
    x[limb] = a[limb * n + i];
    y[limb] = b[limb * n + i];
  }
#pragma unroll
  for (int j = 0; j < LIMBS; ++j) {
    unsigned long long carry = 0;
#pragma unroll
    for (int k = 0; k < LIMBS; ++k) {
      carry += (unsigned long long)x[j] * y[k] + result[j + k];
      result[j + k] = (unsigned)carry;
      carry >>= 32;
    }
    result[j + LIMBS] = (unsigned)carry;
  }
#pragma unroll
  for (int limb = 0; limb < 2 * LIMBS; ++limb)
    product[limb * n + i] = result[limb];
}

__device__ __forceinline__ unsigned add_with_carry(unsigned (&x)[LIMBS], const unsigned (&y)[LIMBS]) {
  unsigned carry;
  // One statement, because the carry flag does not live from one asm statement to the next. Early clobbers, because
  // sums are written while limbs of y are still to be read.
  asm volatile("add.cc.u32  %0, %0, %9;\n\t"
               "addc.cc.u32 %1, %1, %10;\n\t"
               "addc.cc.u32 %2, %2, %11;\n\t"
               "addc.cc.u32 %3, %3, %12;\n\t"
               "addc.cc.u32 %4, %4, %13;\n\t"
               "addc.cc.u32 %5, %5, %14;\n\t"
               "addc.cc.u32 %6, %6, %15;\n\t"
               "addc.cc.u32 %7, %7, %16;\n\t"
               "addc.u32    %8, 0, 0;"
               : "+&r"(x[0]), "+&r"(x[1]), "+&r"(x[2]), "+&r"(x[3]), "+&r"(x[4]), "+&r"(x[5]), "+&r"(x[6]),
                 "+&r"(x[7]), "=&r"(carry)
               : "r"(y[0]), "r"(y[1]), "r"(y[2]), "r"(y[3]), "r"(y[4]), "r"(y[5]), "r"(y[6]), "r"(y[7]));
  return carry;
}

// sum = (a + b) mod (2^256 - 189), for operands below the modulus.
extern "C" __global__ void add_modular_256(const unsigned *__restrict__ a, const unsigned *__restrict__ b,
                                           unsigned *__restrict__ sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned x[LIMBS], y[LIMBS];
#pragma unroll
  for (int limb = 0; limb < LIMBS; ++limb) {
    x[limb] = a[limb * n + i];
    y[limb] = b[limb * n + i];
  }
  unsigned overflow = add_with_carry(x, y);
  unsigned reduced[LIMBS];
#pragma unroll
  for (int limb = 0; limb < LIMBS; ++limb)
    reduced[limb] = x[limb];
  const unsigned complement[LIMBS] = {189};
  unsigned above = add_with_carry(reduced, complement);
#pragma unroll
  for (int limb = 0; limb < LIMBS; ++limb)
    sum[limb * n + i] = overflow | above ? reduced[limb] : x[limb];
}
