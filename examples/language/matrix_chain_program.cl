// Dynamic programming in local memory: the cheapest order of a chain of matrix products, a work-group a chain.
// A triangular nest of loops with a barrier each diagonal, an argument minimum, 64-bit costs.
#include "oriel_opencl.h"

#define LONGEST 16

__kernel __attribute__((reqd_work_group_size(LONGEST, 1, 1))) void matrix_chain(__global const ushort *restrict sizes,
                                                                               int matrices,
                                                                               __global ulong *restrict cost,
                                                                               __global int *restrict split) {
  __local ulong best[LONGEST][LONGEST];
  __local ushort size[LONGEST + 1];
  int item = (int)get_local_id(0), chain = (int)get_group_id(0);
  size[item] = sizes[chain * (LONGEST + 1) + item];
  if (item == 0)
    size[LONGEST] = sizes[chain * (LONGEST + 1) + LONGEST];
  best[item][item] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  int chosen = -1;
  for (int length = 2; length <= matrices; ++length) {
    int last = item + length - 1;
    if (last < matrices) {
      ulong cheapest = ~0UL;
      for (int middle = item; middle < last; ++middle) {
        ulong total = best[item][middle] + best[middle + 1][last] +
                      (ulong)size[item] * size[middle + 1] * size[last + 1];
        if (total < cheapest) {
          cheapest = total;
          chosen = middle;
        }
      }
      best[item][last] = cheapest;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) {
    cost[chain] = best[0][matrices - 1];
    split[chain] = chosen;
  }
}
