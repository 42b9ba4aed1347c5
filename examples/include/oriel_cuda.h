// The part of the CUDA C++ language that the examples use, for clang without a CUDA toolkit.
//
// Everything is a clang builtin or a few lines over one, so that a compiled module has no unresolved
// external function. The names are CUDA's, so that an example reads as a CUDA user writes it.
// Functions that the CUDA mathematics library would give (expf, logf, sinf) exist here only in their
// fast form (__expf, __logf, __sinf), which is one or two PTX instructions.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
// clang knows `__noinline__` as an attribute spelling, hence the plain `noinline` below.
#define __no_inline__ __attribute__((noinline))

#define ORIEL_FN static __device__ __forceinline__

typedef __SIZE_TYPE__ size_t;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef _Float16 __half;
typedef _Float16 __half2 __attribute__((ext_vector_type(2)));

#define ORIEL_VECTORS(scalar, name, align2, align4)                                                        \
  struct __align__(align2) name##2 { scalar x, y; };                                                       \
  struct name##3 { scalar x, y, z; };                                                                      \
  struct __align__(align4) name##4 { scalar x, y, z, w; };                                                 \
  ORIEL_FN name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }                                   \
  ORIEL_FN name##3 make_##name##3(scalar x, scalar y, scalar z) { return {x, y, z}; }                      \
  ORIEL_FN name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }
ORIEL_VECTORS(float, float, 8, 16)
ORIEL_VECTORS(double, double, 16, 16)
ORIEL_VECTORS(int, int, 8, 16)
ORIEL_VECTORS(unsigned int, uint, 8, 16)
ORIEL_VECTORS(unsigned char, uchar, 2, 4)
ORIEL_VECTORS(short, short, 4, 8)
#undef ORIEL_VECTORS

struct dim3 {
  unsigned int x, y, z;
};

#include <__clang_cuda_builtin_vars.h>

// Barriers and fences (`__syncthreads` is a clang builtin).
ORIEL_FN void __syncwarp(unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
ORIEL_FN int __syncthreads_count(int predicate) { return __nvvm_bar0_popc(predicate); }
ORIEL_FN int __syncthreads_or(int predicate) { return __nvvm_bar0_or(predicate); }
ORIEL_FN int __syncthreads_and(int predicate) { return __nvvm_bar0_and(predicate); }
ORIEL_FN void __threadfence() { __nvvm_membar_gl(); }
ORIEL_FN void __threadfence_block() { __nvvm_membar_cta(); }

// Warp shuffles. The last operand packs the segment mask and the clamp value, as PTX defines it.
#define ORIEL_SHUFFLE(type, suffix)                                                                        \
  ORIEL_FN type __shfl_sync(unsigned mask, type value, int lane, int width = 32) {                         \
    return __nvvm_shfl_sync_idx_##suffix(mask, value, lane, ((32 - width) << 8) | 31);                     \
  }                                                                                                        \
  ORIEL_FN type __shfl_up_sync(unsigned mask, type value, int delta, int width = 32) {                     \
    return __nvvm_shfl_sync_up_##suffix(mask, value, delta, (32 - width) << 8);                            \
  }                                                                                                        \
  ORIEL_FN type __shfl_down_sync(unsigned mask, type value, int delta, int width = 32) {                   \
    return __nvvm_shfl_sync_down_##suffix(mask, value, delta, ((32 - width) << 8) | 31);                   \
  }                                                                                                        \
  ORIEL_FN type __shfl_xor_sync(unsigned mask, type value, int lanes, int width = 32) {                    \
    return __nvvm_shfl_sync_bfly_##suffix(mask, value, lanes, ((32 - width) << 8) | 31);                   \
  }
ORIEL_SHUFFLE(int, i32)
ORIEL_SHUFFLE(float, f32)
#undef ORIEL_SHUFFLE

// Warp votes.
ORIEL_FN unsigned __ballot_sync(unsigned mask, int predicate) {
  return __nvvm_vote_ballot_sync(mask, predicate != 0);
}
ORIEL_FN int __any_sync(unsigned mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate != 0); }
ORIEL_FN int __all_sync(unsigned mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate != 0); }
ORIEL_FN unsigned __lane_id() { return __nvvm_read_ptx_sreg_laneid(); }
ORIEL_FN unsigned __lanemask_lt() { return (1u << __nvvm_read_ptx_sreg_laneid()) - 1u; }

// Atomics: relaxed and of device scope, as CUDA defines them.
#define ORIEL_ATOMIC(name, builtin, type)                                                                  \
  ORIEL_FN type name(type *address, type value) {                                                          \
    return builtin(address, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                               \
  }
ORIEL_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, int)
ORIEL_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, unsigned)
ORIEL_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, unsigned long long)
ORIEL_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, float)
ORIEL_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, double)
ORIEL_ATOMIC(atomicSub, __scoped_atomic_fetch_sub, int)
ORIEL_ATOMIC(atomicMin, __scoped_atomic_fetch_min, int)
ORIEL_ATOMIC(atomicMin, __scoped_atomic_fetch_min, unsigned)
ORIEL_ATOMIC(atomicMax, __scoped_atomic_fetch_max, int)
ORIEL_ATOMIC(atomicMax, __scoped_atomic_fetch_max, unsigned)
ORIEL_ATOMIC(atomicMax, __scoped_atomic_fetch_max, unsigned long long)
ORIEL_ATOMIC(atomicAnd, __scoped_atomic_fetch_and, unsigned)
ORIEL_ATOMIC(atomicOr, __scoped_atomic_fetch_or, unsigned)
ORIEL_ATOMIC(atomicXor, __scoped_atomic_fetch_xor, unsigned)
ORIEL_ATOMIC(atomicExch, __scoped_atomic_exchange_n, int)
ORIEL_ATOMIC(atomicExch, __scoped_atomic_exchange_n, unsigned)
#undef ORIEL_ATOMIC

#define ORIEL_ATOMIC_CAS(type)                                                                             \
  ORIEL_FN type atomicCAS(type *address, type expected, type desired) {                                    \
    __scoped_atomic_compare_exchange_n(address, &expected, desired, false, __ATOMIC_RELAXED,               \
                                       __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                           \
    return expected;                                                                                       \
  }
ORIEL_ATOMIC_CAS(int)
ORIEL_ATOMIC_CAS(unsigned)
ORIEL_ATOMIC_CAS(unsigned long long)
#undef ORIEL_ATOMIC_CAS

// Loads through the read-only path.
ORIEL_FN int __ldg(const int *address) { return __nvvm_ldg_i(address); }
ORIEL_FN unsigned __ldg(const unsigned *address) { return __nvvm_ldg_ui(address); }
ORIEL_FN float __ldg(const float *address) { return __nvvm_ldg_f(address); }
ORIEL_FN double __ldg(const double *address) { return __nvvm_ldg_d(address); }

// The address within the block's shared memory that inline assembly gives to `.shared` instructions.
ORIEL_FN unsigned __cvta_generic_to_shared(const void *address) {
  return (unsigned)(size_t)(__attribute__((address_space(3))) const void *)address;
}

// Integer intrinsics.
ORIEL_FN int __popc(unsigned x) { return __builtin_popcount(x); }
ORIEL_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
// CUDA defines the count of zero as the width; the builtin leaves it undefined.
ORIEL_FN int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
ORIEL_FN int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
ORIEL_FN int __ffs(int x) { return __builtin_ffs(x); }
ORIEL_FN unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
ORIEL_FN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
ORIEL_FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
ORIEL_FN unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  return __nvvm_prmt(a, b, selector);
}
ORIEL_FN unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((((unsigned long long)high << 32) | low) << (shift & 31)) >> 32);
}
ORIEL_FN unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)((((unsigned long long)high << 32) | low) >> (shift & 31));
}

#define ORIEL_MINMAX(type)                                                                                 \
  ORIEL_FN constexpr type min(type a, type b) { return a < b ? a : b; }                                    \
  ORIEL_FN constexpr type max(type a, type b) { return a > b ? a : b; }
ORIEL_MINMAX(int)
ORIEL_MINMAX(unsigned)
ORIEL_MINMAX(long long)
ORIEL_MINMAX(unsigned long long)
#undef ORIEL_MINMAX

// Bit casts.
ORIEL_FN float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
ORIEL_FN int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
ORIEL_FN unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
ORIEL_FN float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
ORIEL_FN long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
ORIEL_FN double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }

// Floating point: exact operations first, then the fast approximations.
ORIEL_FN float sqrtf(float x) { return __builtin_sqrtf(x); }
ORIEL_FN double sqrt(double x) { return __builtin_sqrt(x); }
ORIEL_FN float fabsf(float x) { return __builtin_fabsf(x); }
ORIEL_FN double fabs(double x) { return __builtin_fabs(x); }
ORIEL_FN float fminf(float a, float b) { return __builtin_fminf(a, b); }
ORIEL_FN float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
ORIEL_FN double fmax(double a, double b) { return __builtin_fmax(a, b); }
ORIEL_FN float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ORIEL_FN double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
ORIEL_FN float floorf(float x) { return __builtin_floorf(x); }
ORIEL_FN float copysignf(float x, float sign) { return __builtin_copysignf(x, sign); }
ORIEL_FN float rintf(float x) { return __builtin_rintf(x); }
ORIEL_FN float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
ORIEL_FN float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.44269504088896341f); }
ORIEL_FN float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.693147180559945309f; }
ORIEL_FN float __sinf(float x) { return __nvvm_sin_approx_f(x); }
ORIEL_FN float __cosf(float x) { return __nvvm_cos_approx_f(x); }
ORIEL_FN float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }

#define INFINITY __builtin_inff()
#define FLT_MAX __FLT_MAX__
