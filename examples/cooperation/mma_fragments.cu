// Half precision matrix product from ldmatrix and mma.sync, with swizzled tiles in shared memory.
// Convergent statements with up to four results, read-write accumulators through two loops, copies in flight.
#include "oriel_cuda.h"

constexpr int ROWS = 32, COLUMNS = 32, DEPTH = 32, WARPS = 4;

// Eight halves a unit; the unit's place in a row of four is exclusive-ored with the row against bank conflicts.
__device__ __forceinline__ int place(int row, int unit) { return (row * (DEPTH / 8) + (unit ^ (row / 2 % 4))) * 8; }

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void load_fragment_a(unsigned (&a)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(address));
}

__device__ __forceinline__ void load_fragment_b(unsigned (&b)[2], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(b[0]), "=r"(b[1]) : "r"(address));
}

__device__ __forceinline__ void multiply_add(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
               "%1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void copy_16(__half *to, const __half *from) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(__cvta_generic_to_shared(to)), "l"(from));
}
#else
__device__ __forceinline__ void copy_16(__half *to, const __half *from) {
  *reinterpret_cast<uint4 *>(to) = *reinterpret_cast<const uint4 *>(from);
}
#endif

// c = a * b^T for row-major a (m x k) and b (n x k), with m, n and k multiples of 32; each warp has 16 x 16 of a
// block's 32 x 32.
extern "C" __global__ void __launch_bounds__(WARPS * 32)
    half_matmul(const __half *__restrict__ a, const __half *__restrict__ b, float *__restrict__ c, int n, int k) {
  __shared__ __align__(128) __half tile_a[2][ROWS * DEPTH], tile_b[2][COLUMNS * DEPTH];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = threadIdx.x / 4, unit = threadIdx.x % 4;
  a += (size_t)(blockIdx.y * ROWS) * k;
  b += (size_t)(blockIdx.x * COLUMNS) * k;
  int top = warp / 2 * 16, left = warp % 2 * 16;
  auto fetch = [&](int base) {
    int buffer = base / DEPTH % 2;
    copy_16(&tile_a[buffer][place(row, unit)], a + (size_t)row * k + base + unit * 8);
    copy_16(&tile_b[buffer][place(row, unit)], b + (size_t)row * k + base + unit * 8);
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;");
#endif
  };
  float sums[2][4] = {};
  fetch(0);
  for (int base = 0; base < k; base += DEPTH) {
    int buffer = base / DEPTH % 2;
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 0;");
#endif
    __syncthreads();
    if (base + DEPTH < k)
      fetch(base + DEPTH);
#if __CUDA_ARCH__ >= 800
#pragma unroll
    for (int step = 0; step < DEPTH / 8; step += 2) {
      unsigned fragment_a[4], fragment_b[2];
      load_fragment_a(fragment_a, __cvta_generic_to_shared(&tile_a[buffer][place(top + lane % 16, step + lane / 16)]));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int column = left + half * 8 + lane % 8;
        load_fragment_b(fragment_b, __cvta_generic_to_shared(&tile_b[buffer][place(column, step + lane / 8 % 2)]));
        multiply_add(sums[half], fragment_a, fragment_b);
      }
    }
#else
    for (int half = 0; half < 2; ++half)
      for (int part = 0; part < 4; ++part)
        for (int d = 0; d < DEPTH; ++d) {
          int y = top + lane / 4 + part / 2 * 8, x = left + half * 8 + lane % 4 * 2 + part % 2;
          float left_value = tile_a[buffer][place(y, d / 8) + d % 8],
                right_value = tile_b[buffer][place(x, d / 8) + d % 8];
          sums[half][part] = fmaf(left_value, right_value, sums[half][part]);
        }
#endif
  }
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      int y = blockIdx.y * ROWS + top + lane / 4 + part * 8, x = blockIdx.x * COLUMNS + left + half * 8 + lane % 4 * 2;
      *reinterpret_cast<float2 *>(c + (size_t)y * n + x) = make_float2(sums[half][2 * part], sums[half][2 * part + 1]);
    }
}
