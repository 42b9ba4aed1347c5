// Transfers between accounts under two spin locks, and blocks that take turns by tickets.
// Acquire and release in inline PTX, with and without a clobber, around plain accesses that may not leave the lock.
#include "oriel_cuda.h"

__device__ __forceinline__ bool try_lock(unsigned *lock) {
  unsigned old;
#if __CUDA_ARCH__ >= 700
  asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(lock) : "memory");
#else
  asm volatile("atom.global.cas.b32 %0, [%1], 0, 1;\n\tmembar.gl;" : "=r"(old) : "l"(lock) : "memory");
#endif
  return old == 0;
}

__device__ __forceinline__ void unlock(unsigned *lock) {
#if __CUDA_ARCH__ >= 700
  asm volatile("st.release.gpu.global.u32 [%0], 0;" ::"l"(lock) : "memory");
#else
  asm volatile("membar.gl;\n\tst.volatile.global.u32 [%0], 0;" ::"l"(lock) : "memory");
#endif
}

// Longer pauses for each failure.
__device__ __forceinline__ void pause(unsigned &nanoseconds) {
#if __CUDA_ARCH__ >= 700
  asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds));
#endif
  nanoseconds = nanoseconds < 256 ? nanoseconds * 2 : 256;
}

// Each thread moves an amount from one account to another, if the balance allows. The sum of all never changes. Whether
// a thread gets its locks is decided in one pass of the loop, so that threads of a warp can not wait for each other.
extern "C" __global__ void transfer(int *balances, unsigned *locks, const int *__restrict__ orders, unsigned *refused,
                                    int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int from = orders[3 * i], to = orders[3 * i + 1], amount = orders[3 * i + 2];
  if (from == to)
    return;
  unsigned *low = locks + min(from, to), *high = locks + max(from, to), wait = 8;
  for (bool done = false; !done;) {
    if (try_lock(low)) {
      if (try_lock(high)) {
        int balance = balances[from];
        if (balance >= amount) {
          balances[from] = balance - amount;
          balances[to] += amount;
        } else {
          atomicAdd(refused, 1u);
        }
        unlock(high);
        done = true;
      }
      unlock(low);
    }
    if (!done)
      pause(wait);
  }
}

// One block after the other, in the order of its tickets, adds a column of its values to a running state of 32 words.
extern "C" __global__ void ticket_order(const unsigned *__restrict__ in, unsigned *state, unsigned *tickets,
                                        unsigned *out) {
  __shared__ unsigned mine;
  if (threadIdx.x == 0) {
    unsigned now;
    asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(mine) : "l"(tickets));
    do
#if __CUDA_ARCH__ >= 700
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(tickets + 1));
#else
      asm volatile("ld.volatile.global.u32 %0, [%1];\n\tmembar.gl;" : "=r"(now) : "l"(tickets + 1));
#endif
    while (now != mine);
  }
  __syncthreads();
  unsigned before = state[threadIdx.x], word = in[blockIdx.x * blockDim.x + threadIdx.x];
  state[threadIdx.x] = before + word;
  __syncthreads();
  if (threadIdx.x == 0) {
#if __CUDA_ARCH__ >= 700
    asm volatile("fence.acq_rel.gpu;");
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(tickets + 1));
#else
    asm volatile("membar.gl;");
    asm volatile("red.global.add.u32 [%0], 1;" ::"l"(tickets + 1));
#endif
  }
  // Whatever order the blocks had, state is `in` summed over all blocks; the last one to come writes it down.
  if (mine == gridDim.x - 1)
    out[threadIdx.x] = before + word;
}
