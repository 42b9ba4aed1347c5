// Conway's game of life on 32 cells a word: neighbours are counted for all 32 at once with bitwise adders.
// Pure logic operations on wrapped rows, full adders from exclusive or and majority, a loop over generations.
#include "oriel_opencl.h"

__kernel void game_of_life(__global const uint *restrict in, __global uint *restrict out, int words, int height) {
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  if (x >= words || y >= height)
    return;
  uint ones = 0, twos = 0, fours = 0, self = 0;
#pragma unroll
  for (int dy = -1; dy <= 1; ++dy) {
    __global const uint *row = in + (y + dy + height) % height * words;
    uint centre = row[x], west = row[(x + words - 1) % words], east = row[(x + 1) % words];
    uint neighbours[3] = {centre << 1 | west >> 31, centre >> 1 | east << 31, dy == 0 ? 0 : centre};
    if (dy == 0)
      self = centre;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      uint carry = ones & neighbours[k];
      ones ^= neighbours[k];
      uint carry_twos = twos & carry;
      twos ^= carry;
      fours |= carry_twos;
    }
  }
  // Alive next: exactly three neighbours, or two and alive now.
  out[y * words + x] = twos & ~fours & (ones | self);
}
