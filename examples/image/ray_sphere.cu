// Ray tracer: one primary ray a pixel against a list of spheres, Lambert shading and one shadow ray.
// Structs by value and by constant pointer, a nearest-hit loop, divergent early exits, vec3 helpers inlined.
#include "oriel_cuda.h"

struct Sphere {
  float3 centre;
  float radius;
  float3 colour;
  float padding;
};

__device__ __forceinline__ float3 subtract(float3 a, float3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ __forceinline__ float3 scale(float3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
__device__ __forceinline__ float3 add(float3 a, float3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ __forceinline__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __forceinline__ float3 normalize(float3 a) { return scale(a, 1.0f / sqrtf(dot(a, a))); }

// Distance along the ray, or a negative number if it misses.
__device__ float intersect(const Sphere &sphere, float3 origin, float3 direction) {
  float3 to_centre = subtract(sphere.centre, origin);
  float along = dot(to_centre, direction);
  float square = sphere.radius * sphere.radius - (dot(to_centre, to_centre) - along * along);
  if (square < 0.0f)
    return -1.0f;
  float half = sqrtf(square);
  return along - half > 1e-3f ? along - half : along + half;
}

extern "C" __global__ void ray_sphere(const Sphere *__restrict__ spheres, int count, float4 *__restrict__ image,
                                      int width, int height, float3 light) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height)
    return;
  float3 origin = {0.0f, 0.0f, -4.0f};
  float3 direction = normalize({(x - 0.5f * width) / width, (y - 0.5f * height) / width, 1.0f});
  float nearest = FLT_MAX;
  int hit = -1;
  for (int i = 0; i < count; ++i) {
    float distance = intersect(spheres[i], origin, direction);
    if (distance > 1e-3f && distance < nearest) {
      nearest = distance;
      hit = i;
    }
  }
  if (hit < 0) {
    image[y * width + x] = make_float4(0.1f, 0.1f, 0.2f, 1.0f);
    return;
  }
  float3 point = add(origin, scale(direction, nearest));
  float3 normal = normalize(subtract(point, spheres[hit].centre));
  float3 to_light = normalize(subtract(light, point));
  float brightness = fmaxf(dot(normal, to_light), 0.0f);
  for (int i = 0; i < count && brightness > 0.0f; ++i)
    if (i != hit && intersect(spheres[i], point, to_light) > 1e-3f)
      brightness = 0.0f;
  float shade = 0.2f + 0.8f * brightness;
  float3 colour = scale(spheres[hit].colour, shade);
  image[y * width + x] = make_float4(colour.x, colour.y, colour.z, 1.0f);
}
