// clang -fpass-plugin on CUDA, to PTX.

// RUN: env "ORIEL_FLAGS=-oriel-phases=none -oriel-report=%t.json" %clang-cuda %s -o %t.ptx
// RUN: FileCheck %s --input-file=%t.ptx
// RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.json

// CHECK: .entry _Z5saxpyPfPKffi(
// CHECK: fma.rn.f32
// REPORT: "function":"_Z5saxpyPfPKffi","is_kernel":true,"sm":80,{{.*}}"stage":"ssa"
// REPORT: "function":"_Z5saxpyPfPKffi","is_kernel":true,"sm":80,{{.*}}"stage":"late"

// A plug-in with wrong options in the environment is an error of the compilation.
// RUN: env ORIEL_FLAGS=-oriel=fast not %clang-cuda %s -o %t.ptx 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: oriel: ORIEL_FLAGS: -oriel: 'fast' is not allowed; allowed are: off, analyze, optimize

#include "oriel_cuda.h"

__global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
