// Lennard-Jones forces over a neighbour list, double buffered positions in double precision.
// A cut-off branch inside a gather loop, double precision divides, vector types of three used as four.
#include "oriel_opencl.h"

__kernel void lennard_jones(__global const double4 *restrict positions, __global const int *restrict neighbours,
                            int per_atom, __global double4 *restrict forces, double cutoff_squared, int atoms) {
  int i = (int)get_global_id(0);
  if (i >= atoms)
    return;
  double4 self = positions[i];
  double4 force = (double4)(0.0);
  for (int k = 0; k < per_atom; ++k) {
    int j = neighbours[i * per_atom + k];
    double4 d = self - positions[j];
    double square = d.x * d.x + d.y * d.y + d.z * d.z;
    if (j == i || square > cutoff_squared)
      continue;
    double inverse = 1.0 / square;
    double sixth = inverse * inverse * inverse;
    double magnitude = 24.0 * inverse * sixth * (2.0 * sixth - 1.0);
    force.xyz += d.xyz * magnitude;
    force.w += 4.0 * sixth * (sixth - 1.0);
  }
  forces[i] = force;
}
