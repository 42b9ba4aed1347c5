// Inline PTX: several outputs, read-write and early-clobber operands, immediates, memory clobbers, labels, predicates.
// Statements that an optimiser must keep whole, in order and, where volatile, however little their result is used.
#include "oriel_cuda.h"

extern "C" __global__ void inline_ptx_arithmetic(const unsigned *__restrict__ in, unsigned *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned a = in[2 * i], b = in[2 * i + 1];
  unsigned low, high, accumulated = a, field, clamped;
  // Both halves of a product; the first output is written before the last input is read.
  asm("mul.lo.u32 %0, %2, %3;\n\tmul.hi.u32 %1, %2, %3;" : "=&r"(low), "=r"(high) : "r"(a), "r"(b));
  asm("mad.lo.u32 %0, %0, %1, %2;" : "+r"(accumulated) : "r"(b), "n"(12345));
  asm("bfe.u32 %0, %1, 7, 11;" : "=r"(field) : "r"(a));
  asm("{\n\t"
      ".reg .pred above;\n\t"
      "setp.gt.u32 above, %1, %2;\n\t"
      "selp.u32 %0, %2, %1, above;\n\t"
      "}"
      : "=r"(clamped)
      : "r"(b), "r"(1000u));
  out[5 * i] = low;
  out[5 * i + 1] = high;
  out[5 * i + 2] = accumulated;
  out[5 * i + 3] = field;
  out[5 * i + 4] = clamped;
}

extern "C" __global__ void inline_ptx_volatile(const float *__restrict__ in, float *out, unsigned long long *wide, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  float x = in[i], rounded;
  asm volatile("cvt.rni.f32.f32 %0, %1;" : "=f"(rounded) : "f"(x));
  double d;
  asm("cvt.f64.f32 %0, %1;" : "=d"(d) : "f"(x));
  unsigned long long bits;
  asm("mov.b64 %0, %1;" : "=l"(bits) : "d"(d));
  wide[i] = bits;
  asm volatile("st.global.f32 [%0], %1;" ::"l"(out + i), "f"(rounded + (float)lane) : "memory");
  short half_word;
  asm("cvt.u16.u32 %0, %1;" : "=h"(half_word) : "r"(lane * 3));
  asm volatile("" ::"h"(half_word) : "memory");
}

extern "C" __global__ void inline_ptx_population_loop(const unsigned *__restrict__ in, unsigned *__restrict__ out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned rest = in[i], count = 0;
    while (rest != 0) {
      unsigned top;
      asm("bfind.u32 %0, %1;" : "=r"(top) : "r"(rest));
      asm("add.u32 %0, %0, 1;\n\txor.b32 %1, %1, %2;" : "+&r"(count), "+r"(rest) : "r"(1u << top));
    }
    out[i] = count;
  }
}
