// Included first into each CUDA file of the corpus: declarations that nvcc's headers make and clang's don't.
#pragma once

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORIEL_HOST_MIN_MAX(type) \
    static inline __host__ type min(type a, type b) { return a < b ? a : b; } \
    static inline __host__ type max(type a, type b) { return a > b ? a : b; }
ORIEL_HOST_MIN_MAX(int)
ORIEL_HOST_MIN_MAX(unsigned int)
ORIEL_HOST_MIN_MAX(long)
ORIEL_HOST_MIN_MAX(unsigned long)
ORIEL_HOST_MIN_MAX(long long)
ORIEL_HOST_MIN_MAX(unsigned long long)
ORIEL_HOST_MIN_MAX(float)
ORIEL_HOST_MIN_MAX(double)
#undef ORIEL_HOST_MIN_MAX
