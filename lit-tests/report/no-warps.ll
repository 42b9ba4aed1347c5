; Where not a single block fits on a multiprocessor, fewer registers give no more warps, and nothing is said of that.

; RUN: %oriel report --sm 80 %s | FileCheck %s
; RUN: %oriel occupancy --sm 90a --threads 256 --registers 72 | FileCheck %s --check-prefix=SUFFIX
; RUN: not %oriel occupancy --sm 9x --threads 256 --registers 72 2>&1 | FileCheck %s --check-prefix=WRONG

; CHECK: 0/64 shared_memory
; CHECK-NOT: .maxnreg
; SUFFIX: 3 blocks, 24 of 64 warps
; WRONG: a compute capability is a number such as 80

target triple = "nvptx64-nvidia-cuda"
@large = internal addrspace(3) global [200000 x i8] undef
define ptx_kernel void @k(ptr %p) "nvvm.maxnreg"="64" {
  store i8 0, ptr addrspace(3) @large
  store i32 0, ptr %p
  ret void
}
