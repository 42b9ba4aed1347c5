; A sum of values that are live anyway is computed again behind the place with too many live registers; phase 19 leaves
; arithmetic alone. Debug information changes nothing.

; RUN: %llc -oriel-phases=OriSplitHighPressureLiveRanges -oriel-register-budget=9 -oriel-verify -verify-machineinstrs %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; RUN: %llc-plain %s -o %t.plain.ptx
; RUN: %llc -oriel-phases=OriSplitLiveRanges@late -oriel-register-budget=9 %s -o - | FileCheck %s --check-prefix=EARLY

; RUN: opt -passes=debugify -S %s -o %t.debug.ll
; RUN: %llc -oriel-phases=OriSplitHighPressureLiveRanges -oriel-register-budget=9 -oriel-verify %t.debug.ll -o %t.debug.ptx
; RUN: grep -oE "^[[:space:]]+(ld|st|add|mov|ret)[^;]*;" %t.ptx > %t.code
; RUN: grep -oE "^[[:space:]]+(ld|st|add|mov|ret)[^;]*;" %t.debug.ptx | diff %t.code -

; CHECK-LABEL: .entry sum(
; CHECK: ld.volatile.global.b32 [[N:%r[0-9]+]],
; CHECK: add.s32 [[SUM:%r[0-9]+]], [[N]], 5;
; CHECK: st.volatile.global.b32 [%rd{{[0-9]+}}], [[SUM]];
; CHECK: add.s32 [[AGAIN:%r[0-9]+]], [[N]], 5;
; CHECK: st.volatile.global.b32 [%rd{{[0-9]+}}], [[AGAIN]];
; CHECK: ret;

; EARLY-LABEL: .entry sum(
; EARLY: add.s32
; EARLY-NOT: add.s32
; EARLY: ret;

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @sum(ptr addrspace(1) %p) {
  %n = load volatile i32, ptr addrspace(1) %p
  %s = add i32 %n, 5
  store volatile i32 %s, ptr addrspace(1) %p
  %a = load volatile i32, ptr addrspace(1) %p
  %b = load volatile i32, ptr addrspace(1) %p
  %c = load volatile i32, ptr addrspace(1) %p
  %d = load volatile i32, ptr addrspace(1) %p
  %e = load volatile i32, ptr addrspace(1) %p
  %f = load volatile i32, ptr addrspace(1) %p
  store volatile i32 %f, ptr addrspace(1) %p
  store volatile i32 %e, ptr addrspace(1) %p
  store volatile i32 %d, ptr addrspace(1) %p
  store volatile i32 %c, ptr addrspace(1) %p
  store volatile i32 %b, ptr addrspace(1) %p
  store volatile i32 %a, ptr addrspace(1) %p
  store volatile i32 %s, ptr addrspace(1) %p
  store volatile i32 %n, ptr addrspace(1) %p
  ret void
}
