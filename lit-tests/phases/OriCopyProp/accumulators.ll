; Sums that begin at zero before the loop and are zero where the loop is not entered: LLVM sets them on both ways, though
; the first way passes through the second. With and without debug information the code is the same.

; RUN: %llc-plain %s -o %t.plain.ptx
; RUN: FileCheck %s --input-file=%t.plain.ptx --check-prefix=BEFORE
; RUN: %llc -oriel-phases=OriCopyPropSsa,AdvancedPhaseBackPropVReg,OriBackCopyPropagate,OriCopyPropLate -oriel-verify -verify-machineinstrs -oriel-report=%t.json %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx --check-prefix=AFTER
; RUN: FileCheck %s --input-file=%t.json --check-prefix=COUNTS
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; RUN: %llc -oriel-phases=OriCopyPropLate -pass-remarks=oriel %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS
; RUN: %llc -oriel-phases=OriCopyPropLate -oriel-knob=CopyPropNonRegMultiDef=0 -oriel-knob=CopyPropBudget=0 %s -o - | diff %t.plain.ptx -
; RUN: %llc -oriel-phases=OriCopyPropLate -oriel-register-budget=1 %s -o - | diff %t.plain.ptx -

; RUN: opt -passes=debugify -S %s -o %t.debug.ll
; RUN: %llc -oriel-phases=OriCopyPropSsa,OriCopyPropLate -oriel-verify %t.debug.ll -o %t.debug.ptx
; RUN: grep -oE "^[[:space:]]+(@?%%p[0-9]+ |@!%%p[0-9]+ )?(ld|st|add|fma|setp|mov|bra|ret)[^;]*;" %t.ptx > %t.code
; RUN: grep -oE "^[[:space:]]+(@?%%p[0-9]+ |@!%%p[0-9]+ )?(ld|st|add|fma|setp|mov|bra|ret)[^;]*;" %t.debug.ptx | diff %t.code -

; BEFORE-LABEL: .entry accumulators(
; BEFORE: 0f00000000
; BEFORE: bra
; BEFORE: 0f00000000
; BEFORE: ret;

; AFTER-LABEL: .entry accumulators(
; AFTER: 0f00000000
; AFTER: bra
; AFTER-NOT: 0f00000000
; AFTER: ret;

; REMARKS: remark: {{.*}}: OriCopyPropLate: %{{[0-9]+}} holds this value already

; COUNTS: "OriCopyPropLate":{{.*}}"removed-instructions"

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @accumulators(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n) {
entry:
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %loop, label %exit

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %a = phi float [ 0.0, %entry ], [ %a.next, %loop ]
  %b = phi float [ 0.0, %entry ], [ %b.next, %loop ]
  %at = getelementptr float, ptr addrspace(1) %p, i32 %i
  %x = load volatile float, ptr addrspace(1) %at
  %a.next = fadd float %a, %x
  %b.next = fadd float %b, %a.next
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit

exit:
  %a.last = phi float [ 0.0, %entry ], [ %a.next, %loop ]
  %b.last = phi float [ 0.0, %entry ], [ %b.next, %loop ]
  %sum = fadd float %a.last, %b.last
  store float %sum, ptr addrspace(1) %q
  ret void
}
