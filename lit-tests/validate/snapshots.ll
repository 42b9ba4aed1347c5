; Two snapshots of one function: what the phases make of it is proved, another function is not.

; RUN: rm -rf %t && mkdir -p %t/before %t/after %t/other
; RUN: %llc %s -oriel-phases=none -oriel-snapshot=%t/before -o /dev/null
; RUN: %llc %s -oriel-validate=check -oriel-snapshot=%t/after -o /dev/null
; RUN: sed 's/mul i32 %a, 8/mul i32 %a, 9/' %s > %t/other.ll
; RUN: %llc %t/other.ll -oriel-phases=none -oriel-snapshot=%t/other -o /dev/null
; RUN: %oriel validate %t/before/*.late.oriel %t/before/*.late.oriel | FileCheck %s --check-prefix=SAME
; RUN: not %oriel validate %t/before/*.late.oriel %t/other/*.late.oriel 2>&1 | FileCheck %s --check-prefix=OTHER
; RUN: not %oriel validate %t/before/*.late.oriel %s 2>&1 | FileCheck %s --check-prefix=KIND

; Damaged copies are refused, proved or not; nothing crashes.
; RUN: %oriel validate %t/before/*.late.oriel %t/before/*.late.oriel --damage=200 | FileCheck %s --check-prefix=DAMAGED

; SAME: k: proved
; OTHER: oriel: k: not proved: this effect has no equal in the other function (bb.0 before: ST
; KIND: oriel: one is a snapshot (*.oriel), and the other is not
; DAMAGED: 200 damaged copies: {{[0-9]+}} refused, {{[0-9]+}} proved, {{[0-9]+}} not
; DAMAGED: k: proved

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  %product = mul i32 %a, 8
  %sum = add i32 %product, %a
  store i32 %sum, ptr addrspace(1) %p
  ret void
}
