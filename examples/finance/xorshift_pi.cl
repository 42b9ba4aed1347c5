// Estimates pi by throwing points, with a xorshift64* generator a work-item.
// 64-bit integer shifts and multiplies in a serial chain, integer to float conversion, a work-group sum by atomics.
#include "oriel_opencl.h"

static ulong next(ulong *state) {
  ulong x = *state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *state = x;
  return x * 0x2545F4914F6CDD1DUL;
}

__kernel void xorshift_pi(__global uint *hits, __global ulong *restrict states, uint items, uint throws) {
  __local uint group_hits;
  if (get_local_id(0) == 0)
    group_hits = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint item = (uint)get_global_id(0);
  if (item < items) {
    ulong state = states[item] | 1;
    uint inside = 0;
    for (uint i = 0; i < throws; ++i) {
      ulong bits = next(&state);
      float x = (float)(uint)(bits >> 40) * 0x1p-24f;
      float y = (float)(uint)((bits >> 8) & 0xffffff) * 0x1p-24f;
      inside += x * x + y * y < 1.0f;
    }
    atomic_add(&group_hits, inside);
    states[item] = state;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    atomic_add(hits, group_hits);
}
