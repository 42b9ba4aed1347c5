// Producer and consumer warps, and teams of warps, that meet at numbered barriers.
// bar.arrive, bar.sync and reducing barriers, numbers in registers, a shared flag read before and after.
#include "oriel_cuda.h"

constexpr int WARP = 32, SLOTS = 2, PAIR = 2 * WARP;

// The barriers of slot s: 1 + s says "full", 3 + s says "free".
__device__ __forceinline__ void arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ __forceinline__ void await(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Warp 0 squares elements into two slots, warp 1 turns each slot into a running sum of the elements.
extern "C" __global__ void __launch_bounds__(PAIR)
    produce_and_consume(const int *__restrict__ in, int *__restrict__ out, int rounds) {
  __shared__ int slots[SLOTS][WARP];
  int lane = threadIdx.x % WARP, base = blockIdx.x * rounds * WARP + lane;
  if (threadIdx.x < WARP) {
    for (int round = 0; round < rounds; ++round) {
      int slot = round % SLOTS;
      if (round >= SLOTS)
        await(3 + slot, PAIR);
      int value = in[base + round * WARP];
      slots[slot][lane] = value * value;
      arrive(1 + slot, PAIR);
    }
    return;
  }
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    int slot = round % SLOTS;
    await(1 + slot, PAIR);
    sum += slots[slot][WARP - 1 - lane];
    if (round + SLOTS < rounds)
      arrive(3 + slot, PAIR);
    out[base + round * WARP] = sum;
  }
}

// Four warps in two teams. A team's flag is read, changed by its second warp behind the team's own barrier, and read
// again: the assembly names no memory, as it is often written, and still nothing may move over it.
extern "C" __global__ void __launch_bounds__(4 * WARP) team_flags(const int *__restrict__ in, int *__restrict__ out) {
  __shared__ int flags[2], total[2];
  int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, team = warp / 2, i = blockIdx.x * blockDim.x + threadIdx.x;
  if (lane == 0 && warp % 2 == 0) {
    flags[team] = 0;
    total[team] = 0;
  }
  if (team == 0)
    asm volatile("bar.sync 1, 64;");
  else
    asm volatile("bar.sync 2, 64;");
  int before = flags[team];
  atomicAdd(&total[team], in[i]);
  if (team == 0)
    asm volatile("bar.sync 1, 64;");
  else
    asm volatile("bar.sync 2, 64;");
  if (warp % 2 == 1 && lane == 0)
    flags[team] = total[team] + 1;
  int number = 1 + team;
  asm volatile("barrier.sync %0, %1;" ::"r"(number), "n"(PAIR));
  int after = flags[team];
  out[i] = 2 * after - before;
}

// Warp 0 reads the flag three times, warp 1 sets it between; each side meets the other at two barriers a round.
extern "C" __global__ void __launch_bounds__(PAIR) watch_flag(const int *__restrict__ in, int *__restrict__ out) {
  __shared__ int flag;
  int i = blockIdx.x * WARP + threadIdx.x % WARP;
  if (threadIdx.x >= WARP) {
    for (int round = 0; round < 2; ++round) {
      asm volatile("bar.sync 1, 64;");
      if (threadIdx.x == WARP)
        flag = in[i] + round;
      asm volatile("bar.sync 2, 64;");
    }
    return;
  }
  if (threadIdx.x == 0)
    flag = -1;
  asm volatile("bar.warp.sync 0xffffffff;");
  int before = flag;
  asm volatile("bar.sync 1, 64;");
  asm volatile("bar.sync 2, 64;");
  int between = flag;
  asm volatile("bar.sync 1, 64;");
  asm volatile("bar.sync 2, 64;");
  int after = flag;
  out[i] = before + 10 * between + 100 * after;
}

// The reducing forms return a value: all warps leave the loop in the same step.
extern "C" __global__ void __launch_bounds__(PAIR)
    halve_until_small(const int *__restrict__ in, int *__restrict__ out, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i], steps = 0;
  for (;;) {
    int above;
    asm volatile("{\n\t"
                 ".reg .pred mine, any;\n\t"
                 "setp.gt.s32 mine, %1, %2;\n\t"
                 "bar.red.or.pred any, 0, mine;\n\t"
                 "selp.s32 %0, 1, 0, any;\n\t"
                 "}"
                 : "=r"(above)
                 : "r"(value), "r"(limit)
                 : "memory");
    if (!above)
      break;
    value >>= 1;
    ++steps;
  }
  int late;
  asm volatile("{\n\t.reg .pred p;\n\tsetp.eq.s32 p, %1, 0;\n\tbar.red.popc.u32 %0, 0, p;\n\t}"
               : "=r"(late)
               : "r"(value));
  out[i] = value + 1000 * steps + 100000 * late;
}
