// Exclusive prefix sum of a work-group's elements by the up-sweep and down-sweep of a balanced tree.
// Barriers in two loops with a stride that doubles and halves; local memory indices with a conflict-free offset.
#include "oriel_opencl.h"

#define GROUP 64
#define ELEMENTS (2 * GROUP)
#define PADDED(i) ((i) + ((i) >> 5))

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void blelloch_scan(__global const uint *restrict in,
                                                                              __global uint *restrict out,
                                                                              uint n) {
  __local uint tree[PADDED(ELEMENTS)];
  uint item = get_local_id(0);
  uint base = get_group_id(0) * ELEMENTS;
  uint low = item, high = item + GROUP;
  tree[PADDED(low)] = base + low < n ? in[base + low] : 0;
  tree[PADDED(high)] = base + high < n ? in[base + high] : 0;

  uint offset = 1;
  for (uint active = GROUP; active > 0; active >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < active) {
      uint left = offset * (2 * item + 1) - 1, right = offset * (2 * item + 2) - 1;
      tree[PADDED(right)] += tree[PADDED(left)];
    }
    offset <<= 1;
  }
  if (item == 0)
    tree[PADDED(ELEMENTS - 1)] = 0;
  for (uint active = 1; active <= GROUP; active <<= 1) {
    offset >>= 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < active) {
      uint left = offset * (2 * item + 1) - 1, right = offset * (2 * item + 2) - 1;
      uint carried = tree[PADDED(left)];
      tree[PADDED(left)] = tree[PADDED(right)];
      tree[PADDED(right)] += carried;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (base + low < n)
    out[base + low] = tree[PADDED(low)];
  if (base + high < n)
    out[base + high] = tree[PADDED(high)];
}
