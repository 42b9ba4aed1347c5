; Each order of the knob, what both of LLVM's verifiers and ptxas say to it, and that debug information changes nothing.

; RUN: %llc -oriel-phases=ReorderInstructions -oriel-knob=InstructionOrder=6 -oriel-verify -verify-machineinstrs %s -o - | FileCheck %s --check-prefix=EARLY
; RUN: %llc -oriel-phases=ReorderInstructions -oriel-knob=InstructionOrder=7 -oriel-verify -verify-machineinstrs -oriel-report=%t.json %s -o - | FileCheck %s --check-prefix=LATE
; RUN: FileCheck %s --input-file=%t.json --check-prefix=COUNTS
; RUN: %llc -oriel-enable-phases=ReorderInstructions -oriel-knob=InstructionOrder=7 -oriel-verify -verify-machineinstrs %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx --check-prefix=LATE
; RUN: %if ptxas %{ %ptxas %t.ptx %}
; RUN: %llc -oriel-phases=ReorderInstructions@ssa -oriel-verify -verify-machineinstrs %s -o /dev/null

; A number without an order leaves all as it stands; the same seed gives the same.
; RUN: %llc -oriel-phases=none %s -o %t.none.ptx
; RUN: %llc -oriel-phases=ReorderInstructions -oriel-knob=InstructionOrder=0 %s -o - | diff %t.none.ptx -
; RUN: %llc -oriel-phases=ReorderInstructions -oriel-knob=InstructionOrder=8 -oriel-knob=InstructionOrderSeed=3 %s -o %t.random.ptx
; RUN: %llc -oriel-phases=ReorderInstructions -oriel-knob=InstructionOrder=8 -oriel-knob=InstructionOrderSeed=3 %s -o - | diff %t.random.ptx -
; RUN: not diff %t.none.ptx %t.random.ptx > /dev/null
; RUN: %if ptxas %{ %ptxas %t.random.ptx %}

; RUN: opt -passes=debugify -S %s -o %t.debug.ll
; RUN: %llc -oriel-phases=ReorderInstructions -oriel-knob=InstructionOrder=8 -oriel-knob=InstructionOrderSeed=3 -oriel-verify -verify-machineinstrs %t.debug.ll -o %t.debug.ptx
; RUN: grep -oE "^[[:space:]]+(ld|st|add|mul|cvta|bar|ret)[^;]*;" %t.random.ptx > %t.code
; RUN: grep -oE "^[[:space:]]+(ld|st|add|mul|cvta|bar|ret)[^;]*;" %t.debug.ptx | diff %t.code -

; EARLY:      ld.global
; EARLY-NEXT: ld.global
; EARLY-NEXT: add
; EARLY:      bar.sync
; EARLY-NOT:  st.global
; EARLY:      ld.global

; LATE:      ld.global
; LATE-NEXT: add
; LATE-NEXT: ld.global
; LATE:      bar.sync
; LATE:      ld.global

; COUNTS: "ReorderInstructions":{"moved-instructions":{{[1-9]}}

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p) {
  %q = getelementptr i32, ptr addrspace(1) %p, i32 1
  %x = load i32, ptr addrspace(1) %p
  %y = load i32, ptr addrspace(1) %q
  %x.1 = add i32 %x, 5
  %y.1 = add i32 %y, 7
  %product = mul i32 %x.1, %y.1
  store i32 %product, ptr addrspace(1) %p
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %other = load i32, ptr addrspace(1) %q
  %sum = add i32 %product, %other
  store i32 %sum, ptr addrspace(1) %q
  ret void
}
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
