// The OpenCL C built-in functions that the examples use, for clang's NVPTX target.
//
// clang declares OpenCL's built-in functions but does not lower them for NVPTX: there they belong to a
// runtime library. The definitions below are clang builtins, so that a compiled module has no unresolved
// external function. Types and constants come from clang's own header.
#pragma once

#include <opencl-c-base.h>

#define ORIEL_FN static inline __attribute__((always_inline))
#define ORIEL_OVERLOAD ORIEL_FN __attribute__((overloadable))

#define ORIEL_WORK_ITEM_QUERY(name, x, y, z)                                                               \
  ORIEL_FN size_t name(uint dimension) {                                                                   \
    switch (dimension) {                                                                                   \
    case 0:                                                                                                \
      return x;                                                                                            \
    case 1:                                                                                                \
      return y;                                                                                            \
    default:                                                                                               \
      return z;                                                                                            \
    }                                                                                                      \
  }
ORIEL_WORK_ITEM_QUERY(get_local_id, __nvvm_read_ptx_sreg_tid_x(), __nvvm_read_ptx_sreg_tid_y(),
                      __nvvm_read_ptx_sreg_tid_z())
ORIEL_WORK_ITEM_QUERY(get_group_id, __nvvm_read_ptx_sreg_ctaid_x(), __nvvm_read_ptx_sreg_ctaid_y(),
                      __nvvm_read_ptx_sreg_ctaid_z())
ORIEL_WORK_ITEM_QUERY(get_local_size, __nvvm_read_ptx_sreg_ntid_x(), __nvvm_read_ptx_sreg_ntid_y(),
                      __nvvm_read_ptx_sreg_ntid_z())
ORIEL_WORK_ITEM_QUERY(get_num_groups, __nvvm_read_ptx_sreg_nctaid_x(), __nvvm_read_ptx_sreg_nctaid_y(),
                      __nvvm_read_ptx_sreg_nctaid_z())
#undef ORIEL_WORK_ITEM_QUERY

ORIEL_FN size_t get_global_id(uint dimension) {
  return get_group_id(dimension) * get_local_size(dimension) + get_local_id(dimension);
}
ORIEL_FN size_t get_global_size(uint dimension) {
  return get_num_groups(dimension) * get_local_size(dimension);
}

// A work-group barrier orders both local and global memory on NVPTX; the flags choose nothing.
ORIEL_FN void barrier(cl_mem_fence_flags flags) {
  (void)flags;
  __syncthreads();
}

ORIEL_OVERLOAD int min(int a, int b) { return a < b ? a : b; }
ORIEL_OVERLOAD int max(int a, int b) { return a > b ? a : b; }
ORIEL_OVERLOAD uint min(uint a, uint b) { return a < b ? a : b; }
ORIEL_OVERLOAD uint max(uint a, uint b) { return a > b ? a : b; }
ORIEL_OVERLOAD int clamp(int x, int low, int high) { return min(max(x, low), high); }
ORIEL_OVERLOAD float clamp(float x, float low, float high) {
  return __builtin_fminf(__builtin_fmaxf(x, low), high);
}

ORIEL_FN float fabs(float x) { return __builtin_fabsf(x); }
ORIEL_FN float sqrt(float x) { return __builtin_sqrtf(x); }
ORIEL_FN float floor(float x) { return __builtin_floorf(x); }
ORIEL_FN float mad(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
ORIEL_FN float native_exp(float x) { return __nvvm_ex2_approx_f(x * 1.44269504088896341f); }
ORIEL_FN float native_rsqrt(float x) { return __nvvm_rsqrt_approx_f(x); }
ORIEL_FN float native_sin(float x) { return __nvvm_sin_approx_f(x); }
ORIEL_FN float native_cos(float x) { return __nvvm_cos_approx_f(x); }
ORIEL_FN float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

ORIEL_FN uint rotate(uint x, uint shift) { return (x << (shift & 31)) | (x >> (-shift & 31)); }
ORIEL_FN uint popcount(uint x) { return (uint)__builtin_popcount(x); }

// clang lowers `__scoped_atomic_*` for every address space, which keeps `.global` and `.shared` in the PTX.
#define atomic_add(address, value)                                                                         \
  __scoped_atomic_fetch_add((address), (value), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
#define atomic_inc(address) atomic_add((address), 1)
#define atomic_min(address, value)                                                                         \
  __scoped_atomic_fetch_min((address), (value), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)
