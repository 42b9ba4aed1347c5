; Phases that ptxas leaves to its back ends, through the table of back ends.

; RUN: %llc -oriel-profile=ptxas -oriel-report=- %s -o /dev/null | FileCheck %s
; CHECK: "GeneralOptimizeMid2"
; CHECK-SAME: "GeneralOptimizeLate2"

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %i) {
  store i32 %i, ptr addrspace(1) %p
  ret void
}
