; A module may have references to textures and surfaces; only what reads one cannot be executed.

; RUN: %oriel differential %s --without-machine-code | FileCheck %s
; CHECK: 1 kernels, {{.*}} 0 problems
; CHECK-NOT: without a type

target triple = "nvptx64-nvidia-cuda"

@texture = internal addrspace(1) global i64 0, align 8
@surface = internal addrspace(1) global i64 0, align 8

define ptx_kernel void @k(ptr addrspace(1) %out) {
  store i32 1, ptr addrspace(1) %out
  ret void
}

!nvvm.annotations = !{!0, !1}
!0 = !{ptr addrspace(1) @texture, !"texture", i32 1}
!1 = !{ptr addrspace(1) @surface, !"surface", i32 1}
