// clang -fpass-plugin on OpenCL C, to PTX.

// RUN: env "ORIEL_FLAGS=-oriel-phases=none -oriel-report=%t.json" %clang-cl %s -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.json

// CHECK: .entry saxpy(
// CHECK: fma.rn.f32
// REPORT: "function":"saxpy","is_kernel":true,"sm":80,{{.*}}"stage":"ssa"{{.*}}"outcome":"identity"
// REPORT: "function":"saxpy","is_kernel":true,"sm":80,{{.*}}"stage":"late"{{.*}}"outcome":"identity"

#include "oriel_opencl.h"

kernel void saxpy(global float *y, global const float *x, float a, int n) {
  int i = get_global_id(0);
  if (i < n)
    y[i] = a * x[i] + y[i];
}
