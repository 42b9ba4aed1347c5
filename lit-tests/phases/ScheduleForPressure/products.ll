; A kernel that computes all products before it adds any. LLVM's verifiers accept the other order, ptxas does, and with debug information the code is
; the same and every variable has a value.

; RUN: %llc-plain %s -o %t.plain.ptx
; RUN: FileCheck %s --input-file=%t.plain.ptx --check-prefix=BEFORE
; RUN: %llc -oriel-phases=ScheduleForPressure -oriel-register-budget=16 -oriel-verify -verify-machineinstrs -oriel-report=%t.json %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx --check-prefix=AFTER
; RUN: FileCheck %s --input-file=%t.json --check-prefix=COUNTS
; RUN: %if ptxas %{ %ptxas %t.ptx %}
; RUN: %llc -oriel-phases=ScheduleForPressure@ssa -oriel-register-budget=16 -oriel-verify -verify-machineinstrs %s -o /dev/null

; RUN: opt -passes=debugify -S %s -o %t.debug.ll
; RUN: %llc -oriel-phases=ScheduleForPressure -oriel-register-budget=16 -oriel-verify -verify-machineinstrs %t.debug.ll -o %t.debug.ptx
; RUN: grep -oE "^[[:space:]]+(ld|st|add|mul|cvta|ret)[^;]*;" %t.ptx > %t.code
; RUN: grep -oE "^[[:space:]]+(ld|st|add|mul|cvta|ret)[^;]*;" %t.debug.ptx | diff %t.code -
; RUN: %llc -oriel-phases=ScheduleForPressure -oriel-register-budget=16 -stop-after=oriel-late %t.debug.ll -o %t.mir
; RUN: FileCheck %s --input-file=%t.mir --check-prefix=DEBUG

; BEFORE: mul.rn.f32
; BEFORE-NEXT: mul.rn.f32
; BEFORE-NEXT: mul.rn.f32

; AFTER: mul.rn.f32
; AFTER: add.rn.f32
; AFTER-NEXT: mul.rn.f32
; AFTER-NEXT: add.rn.f32

; COUNTS: "ScheduleForPressure":{"reordered-blocks":1,"units":{{[0-9]+}},"moved-instructions":{{[0-9]+}}}

; DEBUG-NOT: DBG_VALUE $noreg

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @sums(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  %x = load float, ptr addrspace(1) %p
  %x0 = fmul float %x, 2.5
  %x1 = fmul float %x, 3.5
  %x2 = fmul float %x, 4.5
  %x3 = fmul float %x, 5.5
  %x4 = fmul float %x, 6.5
  %x5 = fmul float %x, 7.5
  %x6 = fmul float %x, 8.5
  %x7 = fmul float %x, 9.5
  %x8 = fmul float %x, 10.5
  %x9 = fmul float %x, 11.5
  %x10 = fmul float %x, 12.5
  %x11 = fmul float %x, 13.5
  %x12 = fmul float %x, 14.5
  %x13 = fmul float %x, 15.5
  %x14 = fmul float %x, 16.5
  %x15 = fmul float %x, 17.5
  %x16 = fmul float %x, 18.5
  %x17 = fmul float %x, 19.5
  %x18 = fmul float %x, 20.5
  %x19 = fmul float %x, 21.5
  %x20 = fmul float %x, 22.5
  %x21 = fmul float %x, 23.5
  %x22 = fmul float %x, 24.5
  %x23 = fmul float %x, 25.5
  %s1 = fadd float %x0, %x1
  %s2 = fadd float %s1, %x2
  %s3 = fadd float %s2, %x3
  %s4 = fadd float %s3, %x4
  %s5 = fadd float %s4, %x5
  %s6 = fadd float %s5, %x6
  %s7 = fadd float %s6, %x7
  %s8 = fadd float %s7, %x8
  %s9 = fadd float %s8, %x9
  %s10 = fadd float %s9, %x10
  %s11 = fadd float %s10, %x11
  %s12 = fadd float %s11, %x12
  %s13 = fadd float %s12, %x13
  %s14 = fadd float %s13, %x14
  %s15 = fadd float %s14, %x15
  %s16 = fadd float %s15, %x16
  %s17 = fadd float %s16, %x17
  %s18 = fadd float %s17, %x18
  %s19 = fadd float %s18, %x19
  %s20 = fadd float %s19, %x20
  %s21 = fadd float %s20, %x21
  %s22 = fadd float %s21, %x22
  %s23 = fadd float %s22, %x23
  store float %s23, ptr addrspace(1) %q
  ret void
}
