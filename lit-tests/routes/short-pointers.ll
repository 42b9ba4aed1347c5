; Triton's layout has pointers of 32 bits to shared memory. Only llc needs an option for it.

; RUN: %oriel compile --sm 80 -O2 %s -o %t.ptx
; RUN: %llc-plain -O2 -nvptx-short-ptr %s -o %t.plain
; RUN: diff %t.plain %t.ptx
; RUN: FileCheck %s --check-prefix=SHORT < %t.ptx
; SHORT: st.shared.b32 [%r{{[0-9]+}}], %r

; The next module of the process has its own layout.
; RUN: grep -v datalayout %s > %t.long.ll
; RUN: %llc-plain -O2 %t.long.ll -o - | FileCheck %s --check-prefix=LONG
; LONG: st.shared.b32 [%rd{{[0-9]+}}], %r
; RUN: %oriel report --json --sm 80 %s %t.long.ll %s | FileCheck %s
; CHECK: "peak_pressure_r32":2,
; CHECK: "peak_pressure_r32":5,
; CHECK: "peak_pressure_r32":2,

; A layout that shortens only some of these pointers is replaced, as in llc.
; RUN: sed 's/-p4:32:32-p5:32:32/-p5:32:32/' %s > %t.mixed.ll
; RUN: %oriel compile --sm 80 -O2 %t.mixed.ll -o %t.ptx
; RUN: %llc-plain -O2 %t.mixed.ll -o %t.plain
; RUN: diff %t.plain %t.ptx
; RUN: FileCheck %s --check-prefix=LONG < %t.ptx

; Another way to write it.
; RUN: sed 's/p3:32:32/p3(shared):32:32/' %s > %t.named.ll
; RUN: %oriel compile --sm 80 -O2 %t.named.ll -o - | FileCheck %s --check-prefix=SHORT

target datalayout = "e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@shared = external addrspace(3) global [0 x i32], align 16

define ptx_kernel void @k(i32 %index, i32 %value) {
  %place = getelementptr i32, ptr addrspace(3) @shared, i32 %index
  store i32 %value, ptr addrspace(3) %place
  ret void
}
