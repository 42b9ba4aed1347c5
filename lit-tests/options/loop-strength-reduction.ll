; LLVM's loop strength reduction is left out where registers are short, and it would take more of them: it makes a pointer
; for each array.

; RUN: %llc-plain %s -o %t.plain
; RUN: %llc -pass-remarks-analysis=oriel %s -o %t.ptx 2> %t.remarks
; RUN: FileCheck %s --check-prefix=PLAIN --input-file=%t.plain
; RUN: FileCheck %s --input-file=%t.ptx
; RUN: grep -c "remark: .* LLVM's loop strength reduction is left out" %t.remarks | FileCheck %s --check-prefix=ONE
; RUN: %llc -pass-remarks-output=%t.yaml %s -o /dev/null
; RUN: grep -c 'Name: .*LoopStrengthReduction' %t.yaml | FileCheck %s --check-prefix=ONE
; ONE: 1

; PLAIN: .entry one_counter(
; PLAIN: Loop Header
; PLAIN-COUNT-5: add.s64 {{.*}}, 4;
; PLAIN: .entry few_registers(
; CHECK: .entry one_counter(
; CHECK: Loop Header
; CHECK-NOT: add.s64 {{.*}}, 4;
; CHECK: .entry few_registers(

; `few_registers` has enough. ptxas would hold the array of `in_registers` in many. Of the pointers of `walks`, LLVM
; makes fewer.
; RUN: sed -n '/entry few_registers/,$p' %t.plain > %t.plain.rest
; RUN: sed -n '/entry few_registers/,$p' %t.ptx | cmp - %t.plain.rest

; Without the profile's phases, and where the option says so, LLVM's code is as without Oriel.
; RUN: %llc -oriel-loop-strength-reduction=on %s -o - | cmp - %t.plain
; RUN: %llc -oriel-phases=none %s -o - | cmp - %t.plain
; RUN: %llc -oriel=analyze %s -o - | cmp - %t.plain
; RUN: %llc -oriel=off %s -o - | cmp - %t.plain
; RUN: %llc -oriel-profile=ptxas -oriel-least-pressure=255 %s -o - | cmp - %t.plain
; RUN: %llc -oriel=analyze -oriel-loop-strength-reduction=auto %s -o - | cmp - %t.ptx
; RUN: %llc -oriel-loop-strength-reduction=off -pass-remarks-analysis=oriel %s -o /dev/null 2>&1 | grep -c 'is left out' | FileCheck %s --check-prefix=FOUR
; FOUR: 4

; A host that has not registered LLVM's passes gets the same, at once and again.
; RUN: %oriel compile --sm 80 %s -o %t.tool
; RUN: FileCheck %s --input-file=%t.tool
; RUN: rm -f %t.tuned
; RUN: %oriel tune --sm 80 --estimate --rounds 1 --random-orders 0 --oriel=-oriel-maxnreg=24 --save %t.tuned -o %t.tune %s
; RUN: grep -c maxnreg %t.tuned | FileCheck %s --check-prefix=FOUR
; RUN: %oriel compile --sm 80 --oriel=-oriel-tuned=%t.tuned %s -o - | cmp - %t.tune
; RUN: %llc -oriel-tuned=%t.tuned %s -o - | grep -c '^.maxnreg' | FileCheck %s --check-prefix=FOUR

; Who bisects LLVM's passes is asked about all others.
; RUN: %llc -opt-bisect-limit=-1 %s -o - 2> %t.bisect | cmp - %t.ptx
; RUN: FileCheck %s --check-prefix=BISECT --input-file=%t.bisect
; RUN: grep -c 'Loop Strength Reduction on loop' %t.bisect | FileCheck %s --check-prefix=THREE
; THREE: 3
; BISECT-COUNT-4: Canonicalize Freeze Instructions in Loops on loop
; BISECT-NOT: Canonicalize Freeze
; RUN: %llc -opt-bisect-limit=0 -oriel-loop-strength-reduction=on %s -o %t.bisect.on 2> /dev/null
; RUN: %llc -opt-bisect-limit=0 %s -o - 2> /dev/null | cmp - %t.bisect.on

; LLVM may stop behind either pass.
; RUN: %llc -stop-after=canon-freeze %s -o - | FileCheck %s --check-prefix=IR
; RUN: %llc -stop-after=loop-reduce %s -o - | FileCheck %s --check-prefix=IR
; RUN: %llc -stop-before=loop-reduce %s -o - | FileCheck %s --check-prefix=IR
; IR: define {{.*}}@one_counter

target triple = "nvptx64-nvidia-cuda"

; Takes 16 registers all the time: two for each of five places, the counter, its end and the thread's start.
define ptx_kernel void @one_counter(ptr %a, ptr %b, ptr %c, ptr %d, ptr %e, i32 %n) {
entry:
  %ag = addrspacecast ptr %a to ptr addrspace(1)
  %bg = addrspacecast ptr %b to ptr addrspace(1)
  %cg = addrspacecast ptr %c to ptr addrspace(1)
  %dg = addrspacecast ptr %d to ptr addrspace(1)
  %eg = addrspacecast ptr %e to ptr addrspace(1)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %start = zext i32 %tid to i64
  %count = zext i32 %n to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = add i64 %i, %start
  %pa = getelementptr float, ptr addrspace(1) %ag, i64 %at
  %pb = getelementptr float, ptr addrspace(1) %bg, i64 %at
  %pc = getelementptr float, ptr addrspace(1) %cg, i64 %at
  %pd = getelementptr float, ptr addrspace(1) %dg, i64 %at
  %pe = getelementptr float, ptr addrspace(1) %eg, i64 %at
  %x = load volatile float, ptr addrspace(1) %pa
  store volatile float %x, ptr addrspace(1) %pb
  store volatile float %x, ptr addrspace(1) %pc
  store volatile float %x, ptr addrspace(1) %pd
  store volatile float %x, ptr addrspace(1) %pe
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; The same with a place less.
define ptx_kernel void @few_registers(ptr %a, ptr %b, ptr %c, ptr %d, i32 %n) {
entry:
  %ag = addrspacecast ptr %a to ptr addrspace(1)
  %bg = addrspacecast ptr %b to ptr addrspace(1)
  %cg = addrspacecast ptr %c to ptr addrspace(1)
  %dg = addrspacecast ptr %d to ptr addrspace(1)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %start = zext i32 %tid to i64
  %count = zext i32 %n to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = add i64 %i, %start
  %pa = getelementptr float, ptr addrspace(1) %ag, i64 %at
  %pb = getelementptr float, ptr addrspace(1) %bg, i64 %at
  %pc = getelementptr float, ptr addrspace(1) %cg, i64 %at
  %pd = getelementptr float, ptr addrspace(1) %dg, i64 %at
  %x = load volatile float, ptr addrspace(1) %pa
  store volatile float %x, ptr addrspace(1) %pb
  store volatile float %x, ptr addrspace(1) %pc
  store volatile float %x, ptr addrspace(1) %pd
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

; As one_counter, with an array.
define ptx_kernel void @in_registers(ptr %a, ptr %b, ptr %c, ptr %d, i32 %n) {
entry:
  %array = alloca [64 x float]
  %ag = addrspacecast ptr %a to ptr addrspace(1)
  %bg = addrspacecast ptr %b to ptr addrspace(1)
  %cg = addrspacecast ptr %c to ptr addrspace(1)
  %dg = addrspacecast ptr %d to ptr addrspace(1)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %start = zext i32 %tid to i64
  %count = zext i32 %n to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = add i64 %i, %start
  %pa = getelementptr float, ptr addrspace(1) %ag, i64 %at
  %pb = getelementptr float, ptr addrspace(1) %bg, i64 %at
  %pc = getelementptr float, ptr addrspace(1) %cg, i64 %at
  %pd = getelementptr float, ptr addrspace(1) %dg, i64 %at
  %pe = getelementptr float, ptr %array, i64 %i
  %x = load volatile float, ptr addrspace(1) %pa
  store volatile float %x, ptr addrspace(1) %pb
  store volatile float %x, ptr addrspace(1) %pc
  store volatile float %x, ptr addrspace(1) %pd
  store volatile float %x, ptr %pe
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
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
