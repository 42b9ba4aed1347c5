; A plan that was applied and then refused by LLVM's verifier is undone completely: blocks, edges, PHIs, tables,
; registers, debug values, whatever it did to them.

; RUN: split-file %s %t
; RUN: %llc-plain %t/kernel.ll -o %t/plain.ptx

; RUN: %lab-llc -oriel-inject-fault=failed-verification -oriel-edit=%t/blocks.edit -verify-machineinstrs \
; RUN:   %t/kernel.ll -o %t/blocks.ptx 2>&1 | FileCheck %s --check-prefix=SSA
; RUN: diff %t/plain.ptx %t/blocks.ptx

; RUN: %lab-llc -oriel-inject-fault=failed-verification -oriel-edit=%t/tables.edit -verify-machineinstrs \
; RUN:   %t/kernel.ll -o %t/tables.ptx 2>&1 | FileCheck %s --check-prefix=LATE
; RUN: diff %t/plain.ptx %t/tables.ptx

; RUN: %lab-llc -oriel-inject-fault=failed-verification -oriel-edit=%t/asm.edit -verify-machineinstrs \
; RUN:   %t/kernel.ll -o %t/asm.ptx 2>&1 | FileCheck %s --check-prefix=LATE
; RUN: diff %t/plain.ptx %t/asm.ptx

; SSA: oriel: function 'loop' at stage ssa is left as LLVM made it: LLVM's verifier refuses the result: Bad machine code: Undef virtual register def
; LATE: oriel: function 'loop' at stage late is left as LLVM made it: LLVM's verifier refuses the result: Bad machine code: Undef virtual register def

;--- blocks.edit
function loop ssa
split before ST_i32#0 as tail
new-block detour after bb.0
append detour: ST_i32 9 8 0 1 32 LD_i64#0.0 0
append detour: GOTO tail
edge detour to tail
delete ST_i32#1
insert after LD_i32#0: %more:B32 = ADD32ri LD_i32#0.0 1
replace LD_i32#0.0 with %other:B32
;--- tables.edit
function loop late
retarget bb.3 from bb.5 to bb.4
delete-block bb.5
;--- asm.edit
function loop late
delete INLINEASM#0
insert before ST_i32#0: %new:B128 = IMPLICIT_DEF
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @loop(ptr addrspace(1) %p, i32 %n) {
entry:
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %body, label %exit
body:
  %i = phi i32 [ 0, %entry ], [ %i.next, %next ]
  switch i32 %i, label %next [ i32 0, label %a
                               i32 1, label %b
                               i32 2, label %c
                               i32 3, label %a
                               i32 4, label %b ]
a:
  store volatile i32 1, ptr addrspace(1) %p
  br label %next
b:
  store volatile i32 2, ptr addrspace(1) %p
  br label %next
c:
  store volatile i32 3, ptr addrspace(1) %p
  br label %next
next:
  call void asm sideeffect "membar.gl;", ""()
  %i.next = add i32 %i, 1
  %more = icmp slt i32 %i.next, %n
  br i1 %more, label %body, label %exit
exit:
  ret void
}
