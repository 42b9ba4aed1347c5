// Copies and element-wise work in units of 16 bytes: int4, double2, float4 and an aligned struct of four.
// ld.v4, st.v4, ld.v2.b64 and what the vectoriser makes of neighbouring scalar accesses; tails in narrower units.
#include "oriel_cuda.h"

extern "C" __global__ void copy_int4(const int4 *__restrict__ in, int4 *__restrict__ out, int bytes) {
  int quads = bytes / 16;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int q = i; q < quads; q += gridDim.x * blockDim.x)
    out[q] = in[q];
  const char *tail_in = reinterpret_cast<const char *>(in + quads);
  char *tail_out = reinterpret_cast<char *>(out + quads);
  if (i < bytes % 16)
    tail_out[i] = tail_in[i];
}

extern "C" __global__ void scale_double2(double2 *values, double factor, int pairs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs)
    return;
  double2 value = values[i];
  values[i] = make_double2(value.x * factor, value.y + factor);
}

struct __align__(16) Quaternion {
  float x, y, z, w;
};

extern "C" __global__ void rotate_quaternions(const Quaternion *__restrict__ a, const Quaternion *__restrict__ b,
                                              Quaternion *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Quaternion p = a[i], q = b[i];
  out[i] = {p.w * q.x + p.x * q.w + p.y * q.z - p.z * q.y, p.w * q.y - p.x * q.z + p.y * q.w + p.z * q.x,
            p.w * q.z + p.x * q.y - p.y * q.x + p.z * q.w, p.w * q.w - p.x * q.x - p.y * q.y - p.z * q.z};
}

// Four neighbouring scalar accesses that load and store vectorisation may merge.
extern "C" __global__ void sum_neighbours(const float *__restrict__ in, float *__restrict__ out, int groups) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= groups)
    return;
  const float *four = static_cast<const float *>(__builtin_assume_aligned(in + 4 * i, 16));
  float *target = static_cast<float *>(__builtin_assume_aligned(out + 4 * i, 16));
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    sum += four[j];
    target[j] = sum;
  }
}
