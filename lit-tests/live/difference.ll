; A live interval that differs from LLVM's is a fatal error that prints both, by the option and by the pass.

; RUN: not %lab-llc -oriel=analyze -oriel-check-intervals -oriel-inject-fault=wrong-interval %s -o /dev/null 2>&1 \
; RUN:   | FileCheck %s --check-prefixes=CHECK,SSA
; RUN: %llc-plain -stop-after=stack-slot-coloring -simplify-mir %s -o %t.mir
; RUN: not %lab-llc -run-pass=oriel-check-intervals -oriel-inject-fault=wrong-interval %t.mir -o /dev/null 2>&1 \
; RUN:   | FileCheck %s --check-prefixes=CHECK,LATE
; RUN: not %oriel passes --passes=oriel-check-intervals --oriel=-oriel-inject-fault=wrong-interval %t.mir -o - 2>&1 \
; RUN:   | FileCheck %s --check-prefixes=CHECK,LATE
; RUN: %lab-llc -run-pass=oriel-check-intervals %t.mir -o /dev/null 2>&1 | count 0

; SSA: oriel: live intervals of function 'k' at stage ssa differ from LLVM's:
; LATE: oriel: live intervals of function 'k' at stage late differ from LLVM's:
; CHECK-NEXT: Oriel: %[[#REGISTER:]] [[RANGE:\[[0-9]+r,[0-9]+]]d:0) 0@
; CHECK-NEXT: LLVM:  %[[#REGISTER]] [[RANGE]]r:0) 0@

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
