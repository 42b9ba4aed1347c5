; Both sides of a branch load, multiply and add: in the PTX that happens once.

; RUN: %llc -oriel-phases=SpeculativeHoistCommonInsts -oriel-verify %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx
; RUN: %llc -oriel-phases=none %s -o - | FileCheck %s --check-prefix=PLAIN
; RUN: %if ptxas %{ %ptxas %t.ptx %}

target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: .entry sides
; CHECK: ld.global.b32
; CHECK: mad.lo.s32
; CHECK: bra
; CHECK-NOT: mad.lo.s32
; PLAIN-LABEL: .entry sides
; PLAIN: bra
; PLAIN-COUNT-2: mad.lo.s32
define ptx_kernel void @sides(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n) {
entry:
  %is_small = icmp slt i32 %n, 7
  br i1 %is_small, label %small, label %large

small:
  %a = load i32, ptr addrspace(1) %p
  %b = mul i32 %a, %n
  %c = add i32 %b, 3
  store i32 %c, ptr addrspace(1) %q
  ret void

large:
  %d = load i32, ptr addrspace(1) %p
  %e = mul i32 %d, %n
  %f = add i32 %e, 3
  %g = getelementptr i32, ptr addrspace(1) %q, i32 1
  store i32 %f, ptr addrspace(1) %g
  ret void
}
