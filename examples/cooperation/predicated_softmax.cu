// Row softmax and row gather in the form a tile compiler emits: four words a load, each under a predicate.
// Statements with four results and a default moved first, a tied operand, predicated stores and atomics.
#include "oriel_cuda.h"

constexpr int THREADS = 128;

// Reads four words where `inside` holds; the results keep `other` where it does not.
__device__ __forceinline__ uint4 load_four(const float *address, bool inside, float other) {
  uint4 words;
  unsigned fill = __float_as_uint(other);
  asm volatile("{\n\t"
               ".reg .pred guard;\n\t"
               "setp.ne.s32 guard, %5, 0;\n\t"
               "mov.u32 %0, %6;\n\t"
               "mov.u32 %1, %6;\n\t"
               "mov.u32 %2, %6;\n\t"
               "mov.u32 %3, %6;\n\t"
               "@guard ld.global.v4.b32 {%0, %1, %2, %3}, [%4 + 0];\n\t"
               "}"
               : "=&r"(words.x), "=&r"(words.y), "=&r"(words.z), "=&r"(words.w)
               : "l"(address), "r"((int)inside), "r"(fill));
  return words;
}

// The scale is optional: its register comes in with the default and goes out with the word, if there is one.
__device__ __forceinline__ float load_or_keep(const float *address, float value) {
  asm volatile("{\n\t.reg .pred given;\n\tsetp.ne.s64 given, %1, 0;\n\t@given ld.global.f32 %0, [%1];\n\t}"
               : "+f"(value)
               : "l"(address));
  return value;
}

__device__ __forceinline__ void store_four(float *address, bool inside, const float (&values)[4]) {
  asm volatile("{\n\t"
               ".reg .pred guard;\n\t"
               "setp.ne.s32 guard, %1, 0;\n\t"
               "@guard st.global.v4.f32 [%0 + 0], {%2, %3, %4, %5};\n\t"
               "}" ::"l"(address),
               "r"((int)inside), "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]));
}

__device__ __forceinline__ float butterfly(float value, int lanes) {
  float other;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(other) : "f"(value), "r"(lanes));
  return other;
}

template <bool IS_SUM> __device__ __forceinline__ float combine(float a, float b) {
  return IS_SUM ? a + b : fmaxf(a, b);
}

template <bool IS_SUM> __device__ __forceinline__ float reduce(float value, float *scratch) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value = combine<IS_SUM>(value, butterfly(value, lanes));
  unsigned at = __cvta_generic_to_shared(scratch) + threadIdx.x / 32 * 4, first = __cvta_generic_to_shared(scratch);
  asm volatile("{\n\t.reg .pred leads;\n\tsetp.eq.u32 leads, %2, 0;\n\t@leads st.shared.f32 [%0], %1;\n\t}" ::"r"(at),
               "f"(value), "r"(threadIdx.x % 32));
  __syncthreads();
  float parts[4];
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(parts[0]), "=f"(parts[1]), "=f"(parts[2]), "=f"(parts[3])
               : "r"(first));
  __syncthreads();
  return combine<IS_SUM>(combine<IS_SUM>(parts[0], parts[1]), combine<IS_SUM>(parts[2], parts[3]));
}

// A block a row of at most 512 columns, a multiple of four; `scales` may be null.
extern "C" __global__ void __launch_bounds__(THREADS)
    tile_softmax(const float *__restrict__ in, const float *__restrict__ scales, float *__restrict__ out, int columns) {
  __shared__ __align__(16) float scratch[THREADS / 32];
  int column = threadIdx.x * 4;
  size_t at = (size_t)blockIdx.x * columns + column;
  bool inside = column < columns;
  uint4 words = load_four(in + at, inside, -INFINITY);
  float scale = load_or_keep(scales ? scales + blockIdx.x : nullptr, 1.0f);
  float values[4] = {__uint_as_float(words.x) * scale, __uint_as_float(words.y) * scale,
                     __uint_as_float(words.z) * scale, __uint_as_float(words.w) * scale};
  float most = reduce<false>(fmaxf(fmaxf(values[0], values[1]), fmaxf(values[2], values[3])), scratch), sum = 0.0f;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    asm("ex2.approx.f32 %0, %1;" : "=f"(values[k]) : "f"((values[k] - most) * 1.44269504f));
    sum += values[k];
  }
  sum = reduce<true>(sum, scratch);
#pragma unroll
  for (int k = 0; k < 4; ++k)
    asm("div.full.f32 %0, %1, %2;" : "=f"(values[k]) : "f"(values[k]), "f"(sum));
  store_four(out + at, inside, values);
}

// Gathers rows by index: a negative one gives the default, and a flag counts how often.
extern "C" __global__ void gather_or_default(const float *__restrict__ table, const int *__restrict__ rows,
                                             float *__restrict__ out, unsigned *missing, int columns) {
  int row = rows[blockIdx.x], column = threadIdx.x * 4;
  bool found = row >= 0 && column < columns;
  uint4 words = load_four(table + (size_t)max(row, 0) * columns + column, found, -1.0f);
  float values[4] = {__uint_as_float(words.x), __uint_as_float(words.y), __uint_as_float(words.z),
                     __uint_as_float(words.w)};
  store_four(out + (size_t)blockIdx.x * columns + column, column < columns, values);
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.s32 p, %1, 0;\n\t@p red.global.add.u32 [%0], 1;\n\t}" ::"l"(missing),
               "r"((int)(row < 0 && threadIdx.x == 0)));
}
