// OpenCL C vector types: swizzles, lane-wise comparison and selection, conversions, 8-bit and 64-bit elements.
// Vectors of four and eight that become several registers, shuffles by constants, scalars widened to vectors.
#include "oriel_opencl.h"

__kernel void swizzle_and_select(__global const int4 *restrict in, __global int4 *restrict out, int n) {
  int i = (int)get_global_id(0);
  if (i >= n)
    return;
  int4 v = in[i];
  int4 reversed = v.wzyx;
  int4 mask = v > reversed;
  int4 larger = (mask & v) | (~mask & reversed);
  larger.xz += v.yw;
  larger.hi = larger.hi * 3 - larger.lo;
  out[i] = larger;
}

__kernel void accumulate_bytes(__global const uchar8 *restrict in, __global ulong2 *restrict out, int n) {
  int i = (int)get_global_id(0);
  if (i >= n)
    return;
  ushort8 wide = __builtin_convertvector(in[i], ushort8);
  ushort8 squared = wide * wide;
  ulong4 halves = __builtin_convertvector(squared.lo, ulong4) + __builtin_convertvector(squared.hi, ulong4);
  out[i] = halves.xy * (ulong2)(1, 3) + halves.zw;
}

__kernel void triangle_areas(__global const float *restrict xyz, __global float *restrict areas, int triangles) {
  int i = (int)get_global_id(0);
  if (i >= triangles)
    return;
  float3 p[3];
#pragma unroll
  for (int corner = 0; corner < 3; ++corner)
    p[corner] = (float3)(xyz[9 * i + 3 * corner], xyz[9 * i + 3 * corner + 1], xyz[9 * i + 3 * corner + 2]);
  float3 u = p[1] - p[0], v = p[2] - p[0];
  float3 normal = u.yzx * v.zxy - u.zxy * v.yzx;
  areas[i] = 0.5f * sqrt(normal.x * normal.x + normal.y * normal.y + normal.z * normal.z);
}
