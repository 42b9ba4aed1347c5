; IR as a simple front end leaves it: two comparisons leave only one answer to a third, whose branch goes in PTX.

; RUN: %llc-plain %s -o - | FileCheck %s --check-prefix=BEFORE
; RUN: %llc -oriel-phases=GeneralOptimizeEarly -oriel-verify -verify-machineinstrs -oriel-report=%t.json %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx --check-prefix=AFTER
; RUN: FileCheck %s --input-file=%t.json --check-prefix=COUNTS
; RUN: %if ptxas %{ %ptxas %t.ptx %}
; RUN: %llc -oriel-phases=GeneralOptimizeEarly -oriel-knob=214 %s -o - | FileCheck %s --check-prefix=BEFORE
; RUN: %llc -oriel-phases=GeneralOptimizeEarly -pass-remarks-analysis=oriel %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

; BEFORE-LABEL: .entry sorted(
; BEFORE-COUNT-3: @{{!?}}%p{{[0-9]+}} bra
; BEFORE: ret;
; AFTER-LABEL: .entry sorted(
; AFTER-COUNT-2: @{{!?}}%p{{[0-9]+}} bra
; AFTER-NOT: @{{!?}}%p{{[0-9]+}} bra
; AFTER-NOT: setp
; AFTER: ret;
; COUNTS: "GeneralOptimizeEarly":{{.*}}"decided-branches":1
; REMARK: GeneralOptimizeEarly: {{[0-9]+}} iterations, at most

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @sorted(ptr addrspace(1) %p, i32 %i, i32 %n) {
entry:
  %less = icmp slt i32 %i, %n
  br i1 %less, label %exit, label %first
first:
  store volatile i32 %i, ptr addrspace(1) %p
  %greater = icmp sgt i32 %i, %n
  br i1 %greater, label %exit, label %second
second:
  store volatile i32 0, ptr addrspace(1) %p
  %equal = icmp eq i32 %i, %n
  br i1 %equal, label %exit, label %never
never:
  store volatile i32 1, ptr addrspace(1) %p
  br label %exit
exit:
  ret void
}
