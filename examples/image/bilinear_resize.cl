// Bilinear resize of an image of four floats a pixel.
// Vector loads and vector arithmetic on float4, float to integer conversion, clamped neighbours.
#include "oriel_opencl.h"

__kernel void bilinear_resize(__global const float4 *restrict in, __global float4 *restrict out, int in_width,
                              int in_height, int out_width, int out_height) {
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  if (x >= out_width || y >= out_height)
    return;
  float source_x = ((float)x + 0.5f) * (float)in_width / (float)out_width - 0.5f;
  float source_y = ((float)y + 0.5f) * (float)in_height / (float)out_height - 0.5f;
  int left = (int)floor(source_x), top = (int)floor(source_y);
  float fx = source_x - (float)left, fy = source_y - (float)top;
  int x0 = clamp(left, 0, in_width - 1), x1 = clamp(left + 1, 0, in_width - 1);
  int y0 = clamp(top, 0, in_height - 1), y1 = clamp(top + 1, 0, in_height - 1);
  float4 upper = in[y0 * in_width + x0] * (1.0f - fx) + in[y0 * in_width + x1] * fx;
  float4 lower = in[y1 * in_width + x0] * (1.0f - fx) + in[y1 * in_width + x1] * fx;
  out[y * out_width + x] = upper * (1.0f - fy) + lower * fy;
}
