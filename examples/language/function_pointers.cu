// Dispatch through function pointers: a table in constant memory, a pointer chosen by data, a virtual member function.
// Indirect calls with a prototype, divergent callees, addresses of functions as data.
#include "oriel_cuda.h"

typedef int (*Operation)(int, int);

__device__ int op_add(int a, int b) { return a + b; }
__device__ int op_subtract(int a, int b) { return a - b; }
__device__ int op_multiply(int a, int b) { return a * b; }
__device__ int op_average(int a, int b) { return (a & b) + ((a ^ b) >> 1); }

__constant__ Operation operations[4] = {op_add, op_subtract, op_multiply, op_average};

extern "C" __global__ void apply_operations(const unsigned char *__restrict__ codes, const int *__restrict__ a,
                                            const int *__restrict__ b, int *__restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = operations[codes[i] & 3](a[i], b[i]);
}

__device__ __no_inline__ int fold(Operation operation, const int *values, int count) {
  int result = values[0];
  for (int i = 1; i < count; ++i)
    result = operation(result, values[i]);
  return result;
}

extern "C" __global__ void fold_rows(const int *__restrict__ values, int columns, int rows, int *__restrict__ out) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  Operation operation = row % 2 == 0 ? op_add : op_average;
  out[row] = fold(operation, values + row * columns, columns);
}

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Circle : Shape {
  float radius;
  __device__ explicit Circle(float r) : radius(r) {}
  __device__ float area() const override { return 3.14159265f * radius * radius; }
};
struct Rectangle : Shape {
  float width, height;
  __device__ Rectangle(float w, float h) : width(w), height(h) {}
  __device__ float area() const override { return width * height; }
};

__device__ __no_inline__ float area_of(const Shape &shape) { return shape.area(); }

extern "C" __global__ void virtual_areas(const float *__restrict__ sizes, float *__restrict__ areas, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  Circle circle(sizes[i]);
  Rectangle rectangle(sizes[i], 2.0f);
  areas[i] = i % 3 == 0 ? area_of(circle) : area_of(rectangle);
}
