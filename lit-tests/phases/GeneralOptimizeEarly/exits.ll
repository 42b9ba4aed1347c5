; IR as a simple front end leaves it: what a comparison behind the first asks is decided by it. In PTX it goes, and its branch.

; RUN: %llc-plain %s -o - | FileCheck %s --check-prefix=BEFORE
; RUN: %llc -oriel-phases=GeneralOptimizeEarly -oriel-verify -verify-machineinstrs -oriel-report=%t.json %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx --check-prefix=AFTER
; RUN: FileCheck %s --input-file=%t.json --check-prefix=COUNTS
; RUN: %if ptxas %{ %ptxas %t.ptx %}
; RUN: %llc -oriel-phases=GeneralOptimizeEarly -oriel-knob=214 %s -o - | FileCheck %s --check-prefix=BEFORE
; RUN: %llc -oriel-phases=GeneralOptimizeEarly -pass-remarks-analysis=oriel %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

; BEFORE-LABEL: .entry checked(
; BEFORE-COUNT-2: bra {{.*}}L__BB
; BEFORE: ret;
; AFTER-LABEL: .entry checked(
; AFTER-COUNT-1: bra {{.*}}L__BB
; AFTER-NOT: bra
; AFTER: ret;
; COUNTS: "GeneralOptimizeEarly":{{.*}}"decided-branches":1
; REMARK: GeneralOptimizeEarly: {{[0-9]+}} iterations, at most

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @checked(ptr addrspace(1) %p, i32 %i, i32 %n) {
entry:
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %first, label %exit
first:
  store i32 %i, ptr addrspace(1) %p
  %again = icmp ne i32 %i, %n
  br i1 %again, label %second, label %exit
second:
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %n, ptr addrspace(1) %q
  br label %exit
exit:
  ret void
}
