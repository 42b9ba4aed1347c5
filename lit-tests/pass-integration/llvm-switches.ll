; LLVM's own switches work on Oriel's passes.

; RUN: %llc -print-after=oriel-ssa %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRINT-SSA
; RUN: %llc -print-after=oriel-late %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRINT-LATE
; RUN: %llc -print-before=oriel-late %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PRINT-LATE
; RUN: %llc -stop-after=oriel-ssa %s -o - | FileCheck %s --check-prefix=STOP-SSA
; RUN: %llc -stop-after=oriel-late %s -o - | FileCheck %s --check-prefix=STOP-LATE
; RUN: %llc -stop-before=oriel-late %s -o - | FileCheck %s --check-prefix=STOP-LATE
; RUN: %llc -time-passes %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=TIME
; RUN: %llc -debug-pass=Structure %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRUCTURE
; RUN: %llc -debug-pass=Structure -O0 %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRUCTURE-O0
; RUN: %llc -verify-machineinstrs -oriel-phases=none %s -o - | FileCheck %s --check-prefix=PTX

; PRINT-SSA: # *** IR Dump After Oriel (SSA) (oriel-ssa) ***
; PRINT-SSA: PHI
; PRINT-LATE: # *** IR Dump {{After|Before}} Oriel (late) (oriel-late) ***
; PRINT-LATE-NOT: = PHI

; STOP-SSA: name: k
; STOP-SSA: PHI
; STOP-LATE: name: k
; STOP-LATE-NOT: PHI

; TIME-DAG: Oriel (SSA)
; TIME-DAG: Oriel (late)

; STRUCTURE: Oriel (SSA)
; STRUCTURE: Eliminate PHI nodes for register allocation
; STRUCTURE: Oriel (late)
; STRUCTURE: NVPTX Assembly Printer
; STRUCTURE-O0-NOT: Oriel

; PTX: .entry k(

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  store volatile i32 %i, ptr addrspace(1) %p
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
