// Sobel edge detection of an 8-bit image with a local memory tile and saturation to a byte.
// A two-dimensional work-group, early exit after the last barrier, an integer square root by Newton steps.
#include "oriel_opencl.h"

#define TILE 16
#define HALO (TILE + 2)

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void sobel(__global const uchar *restrict in,
                                                                        __global uchar *restrict out, int width,
                                                                        int height) {
  __local uchar tile[HALO][HALO];
  int lx = (int)get_local_id(0), ly = (int)get_local_id(1);
  int left = (int)get_group_id(0) * TILE - 1, top = (int)get_group_id(1) * TILE - 1;
  for (int i = ly * TILE + lx; i < HALO * HALO; i += TILE * TILE) {
    int x = clamp(left + i % HALO, 0, width - 1), y = clamp(top + i / HALO, 0, height - 1);
    tile[i / HALO][i % HALO] = in[y * width + x];
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  if (x >= width || y >= height)
    return;
  int horizontal = tile[ly][lx + 2] + 2 * tile[ly + 1][lx + 2] + tile[ly + 2][lx + 2] - tile[ly][lx] -
                   2 * tile[ly + 1][lx] - tile[ly + 2][lx];
  int vertical = tile[ly + 2][lx] + 2 * tile[ly + 2][lx + 1] + tile[ly + 2][lx + 2] - tile[ly][lx] -
                 2 * tile[ly][lx + 1] - tile[ly][lx + 2];
  uint square = (uint)(horizontal * horizontal + vertical * vertical);
  uint root = square;
  for (uint next = (square + 1) / 2; next < root; next = (root + square / root) / 2)
    root = next;
  out[y * width + x] = (uchar)min(root, 255u);
}
