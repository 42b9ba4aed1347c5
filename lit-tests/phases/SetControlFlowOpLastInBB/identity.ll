; What comes from LLVM ends every block in its only control-flow operation already: the phase finds nothing to do and
; the PTX is llc's, whatever ends the blocks: a branch, a table, a trap, a return, the end of the block above. What
; the phase does is in its unit tests: such functions come from Ori's text form, not from LLVM.

; RUN: %llc-plain %s -o %t.plain
; RUN: %llc -oriel-phases=SetControlFlowOpLastInBB@ssa,SetControlFlowOpLastInBB@late -oriel-verify -verify-machineinstrs -oriel-report=%t.json -oriel-print-after-all %s -o %t.ptx 2>&1 | FileCheck %s --check-prefix=ORI
; RUN: cmp %t.plain %t.ptx
; RUN: FileCheck %s --input-file=%t.json
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; CHECK-COUNT-2: "outcome":"identity","phases":{"SetControlFlowOpLastInBB":{}}

; ORI: // after SetControlFlowOpLastInBB
; ORI: BRX
; ORI: BRA
; ORI: RET

target triple = "nvptx64-nvidia-cuda"
declare void @llvm.trap()

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  switch i32 %n, label %bad [ i32 0, label %a
                              i32 1, label %b
                              i32 2, label %c
                              i32 3, label %d
                              i32 4, label %end ]
a:
  store volatile i32 1, ptr addrspace(1) %p
  br label %b
b:
  store volatile i32 2, ptr addrspace(1) %p
  br label %c
c:
  %v = load volatile i32, ptr addrspace(1) %p
  %t = icmp eq i32 %v, 0
  br i1 %t, label %d, label %end
d:
  store volatile i32 4, ptr addrspace(1) %p
  br label %c
bad:
  call void @llvm.trap()
  unreachable
end:
  ret void
}
