// Escape-time rendering of the Mandelbrot set, in single and in double precision from one template.
// A loop with two exits whose trip count differs between neighbouring threads; a cardioid test exits early.
#include "oriel_cuda.h"

template <typename Real> __device__ __forceinline__ int escape_time(Real cx, Real cy, int limit) {
  Real q = (cx - Real(0.25)) * (cx - Real(0.25)) + cy * cy;
  if (q * (q + (cx - Real(0.25))) <= Real(0.25) * cy * cy)
    return limit;
  Real x = 0, y = 0;
  int i = 0;
  for (; i < limit; ++i) {
    Real xx = x * x, yy = y * y;
    if (xx + yy > Real(4))
      break;
    y = 2 * x * y + cy;
    x = xx - yy + cx;
  }
  return i;
}

extern "C" __global__ void mandelbrot_float(unsigned short *__restrict__ out, int width, int height, float left,
                                            float top, float step, int limit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    out[y * width + x] = escape_time<float>(left + x * step, top + y * step, limit);
}

extern "C" __global__ void mandelbrot_double(unsigned short *__restrict__ out, int width, int height, double left,
                                             double top, double step, int limit) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    out[y * width + x] = escape_time<double>(left + x * step, top + y * step, limit);
}
