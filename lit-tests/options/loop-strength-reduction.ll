; LLVM's loop strength reduction is left out where it cannot save registers: it would make a pointer for each array.

; RUN: %llc-plain %s -o %t.plain
; RUN: %llc -pass-remarks-analysis=oriel %s -o %t.ptx 2> %t.remarks
; RUN: FileCheck %s --check-prefix=PLAIN --input-file=%t.plain
; RUN: FileCheck %s --input-file=%t.ptx
; RUN: grep -c "remark: .* LLVM's loop strength reduction is left out" %t.remarks | FileCheck %s --check-prefix=ONE
; ONE: 1

; PLAIN: .entry one_counter(
; PLAIN: Loop Header
; PLAIN-COUNT-2: add.s64 {{.*}}, 4;
; PLAIN: .entry in_registers(
; CHECK: .entry one_counter(
; CHECK: Loop Header
; CHECK-NOT: add.s64 {{.*}}, 4;
; CHECK: .entry in_registers(

; ptxas would hold the array of `in_registers` in a hundred registers. Of the pointers of `walks`, LLVM makes fewer.
; RUN: sed -n '/entry in_registers/,$p' %t.plain > %t.plain.rest
; RUN: sed -n '/entry in_registers/,$p' %t.ptx | cmp - %t.plain.rest

; Without the profile's phases, and where the option says so, LLVM's code is as without Oriel.
; RUN: %llc -oriel-loop-strength-reduction=on %s -o - | cmp - %t.plain
; RUN: %llc -oriel-phases=none %s -o - | cmp - %t.plain
; RUN: %llc -oriel=analyze %s -o - | cmp - %t.plain
; RUN: %llc -oriel=off %s -o - | cmp - %t.plain
; RUN: %llc -oriel-profile=ptxas -oriel-least-pressure=255 %s -o - | cmp - %t.plain
; RUN: %llc -oriel=analyze -oriel-loop-strength-reduction=auto %s -o - | cmp - %t.ptx
; RUN: %llc -oriel-loop-strength-reduction=off -pass-remarks-analysis=oriel %s -o /dev/null 2>&1 | grep -c 'is left out' | FileCheck %s --check-prefix=THREE
; THREE: 3

; A function's own options hold for it by its name.
; RUN: echo '{"sm":80,"hash":"1","function":"one_counter","flags":"-oriel=off"}' > %t.tuned
; RUN: %llc -oriel-tuned=%t.tuned %s -o - | cmp - %t.plain
; With two of that name, none is the right one.
; RUN: echo '{"sm":80,"hash":"2","function":"one_counter","flags":"-oriel=off"}' >> %t.tuned
; RUN: %llc -oriel-tuned=%t.tuned %s -o - | cmp - %t.ptx

; Who bisects LLVM's passes is asked about all others.
; RUN: %llc -opt-bisect-limit=-1 %s -o - 2> %t.bisect | cmp - %t.ptx
; RUN: FileCheck %s --check-prefix=BISECT --input-file=%t.bisect
; RUN: grep -c 'Loop Strength Reduction on loop' %t.bisect | FileCheck %s --check-prefix=TWO
; TWO: 2
; BISECT-COUNT-3: Canonicalize Freeze Instructions in Loops on loop
; BISECT-NOT: Canonicalize Freeze
; RUN: %llc -opt-bisect-limit=0 -oriel-loop-strength-reduction=on %s -o %t.bisect.on 2> /dev/null
; RUN: %llc -opt-bisect-limit=0 %s -o - 2> /dev/null | cmp - %t.bisect.on

; LLVM may stop behind either pass.
; RUN: %llc -stop-after=canon-freeze %s -o - | FileCheck %s --check-prefix=IR
; RUN: %llc -stop-after=loop-reduce %s -o - | FileCheck %s --check-prefix=IR
; RUN: %llc -stop-before=loop-reduce %s -o - | FileCheck %s --check-prefix=IR
; IR: define {{.*}}@one_counter

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @one_counter(ptr %a, ptr %b, i32 %n) {
entry:
  %ag = addrspacecast ptr %a to ptr addrspace(1)
  %bg = addrspacecast ptr %b to ptr addrspace(1)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %start = zext i32 %tid to i64
  %count = zext i32 %n to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = add i64 %i, %start
  %pa = getelementptr float, ptr addrspace(1) %ag, i64 %at
  %pb = getelementptr float, ptr addrspace(1) %bg, i64 %at
  %x = load volatile float, ptr addrspace(1) %pa
  store volatile float %x, ptr addrspace(1) %pb
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

define ptx_kernel void @in_registers(ptr %a, i64 %n) {
entry:
  %array = alloca [64 x float]
  %ag = addrspacecast ptr %a to ptr addrspace(1)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr float, ptr addrspace(1) %ag, i64 %i
  %q = getelementptr float, ptr %array, i64 %i
  %x = load volatile float, ptr addrspace(1) %p
  store volatile float %x, ptr %q
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

define ptx_kernel void @walks(ptr %a, ptr %b, i64 %step, i32 %n) {
entry:
  %ag = addrspacecast ptr %a to ptr addrspace(1)
  %bg = addrspacecast ptr %b to ptr addrspace(1)
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %p = phi ptr addrspace(1) [ %ag, %entry ], [ %pn, %loop ]
  %q = phi ptr addrspace(1) [ %bg, %entry ], [ %qn, %loop ]
  %x = load volatile float, ptr addrspace(1) %p
  store volatile float %x, ptr addrspace(1) %q
  %pn = getelementptr float, ptr addrspace(1) %p, i64 %step
  %qn = getelementptr float, ptr addrspace(1) %q, i64 %step
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
