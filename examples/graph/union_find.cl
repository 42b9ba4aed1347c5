// Connected components: label propagation by hooking and pointer jumping, and a histogram of component sizes.
// Chains of dependent loads, atomic minimum on global memory, loops whose exit depends on memory.
#include "oriel_opencl.h"

__kernel void hook(__global const uint2 *restrict edges, uint edge_count, __global uint *parent) {
  uint i = (uint)get_global_id(0);
  if (i >= edge_count)
    return;
  uint a = edges[i].x, b = edges[i].y;
  for (;;) {
    while (parent[a] != a)
      a = parent[a];
    while (parent[b] != b)
      b = parent[b];
    if (a == b)
      return;
    uint high = max(a, b), low = min(a, b);
    uint before = atomic_min(&parent[high], low);
    if (before == high)
      return;
    a = before;
    b = low;
  }
}

__kernel void compress(__global uint *parent, __global uint *component_size, uint vertices) {
  uint vertex = (uint)get_global_id(0);
  if (vertex >= vertices)
    return;
  uint root = vertex;
  while (parent[root] != root)
    root = parent[root];
  parent[vertex] = root;
  atomic_inc(&component_size[root]);
}
