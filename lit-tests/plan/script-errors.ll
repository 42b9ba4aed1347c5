; A wrong script says where it is wrong. What is wrong as a whole is an error of the option; what does not fit the
; function leaves it alone.

; RUN: split-file %s %t
; RUN: not %edit -oriel-edit=%t/EARLY.edit %t/kernel.ll -o /dev/null 2>&1 | FileCheck %s --check-prefix=EARLY
; RUN: not %edit -oriel-edit=%t/STAGE.edit %t/kernel.ll -o /dev/null 2>&1 | FileCheck %s --check-prefix=STAGE
; RUN: not %edit -oriel-edit=%t/MISSING.edit %t/kernel.ll -o /dev/null 2>&1 | FileCheck %s --check-prefix=MISSING
; RUN: %refused COMMAND
; RUN: %refused OPCODE
; RUN: %refused INSTRUCTION
; RUN: %refused NUMBER
; RUN: %refused NAME
; RUN: %refused OPERAND
; RUN: %refused WITH
; RUN: %refused EMPTY
; RUN: %refused SOURCE
; RUN: %edited BOTH

; EARLY: --oriel-edit option: {{.*}}EARLY.edit: line 2: a script starts with 'function NAME'
; STAGE: --oriel-edit option: {{.*}}STAGE.edit: line 1: expected ssa, late or nothing after the function's name
; MISSING: --oriel-edit option: {{.*}}MISSING.edit: No such file or directory

; COMMAND: edit script: line 4: 'remove ADD32rr#0' is no command; allowed are delete, delete-block, set,
; OPCODE: edit script: line 2: there is no instruction FMA#0
; INSTRUCTION: edit script: line 2: 'ADD32rr' is no instruction; write @NUMBER or OPCODE#NUMBER
; NUMBER: edit script: line 2: there is no instruction @99
; NAME: edit script: line 2: %new has no class yet
; OPERAND: edit script: line 2: 'seven' is no operand
; WITH: edit script: line 2: expected 'with NUMBER = VALUE' or nothing after the position
; EMPTY: edit script: line 2: an opcode is missing
; SOURCE: edit script: line 2: first delete the instruction that the new one replaces

; A section without a stage is for both; other functions stay as they are.
; BOTH-LABEL: .entry k(
; BOTH: add.s32 [[X:%r[0-9]+]], {{%r[0-9]+}}, 1;
; BOTH-NEXT: add.s32 {{%r[0-9]+}}, {{%r[0-9]+}}, 1;
; BOTH-LABEL: .entry other(
; BOTH-NOT: , 1;
; BOTH: ret;

;--- EARLY.edit
# a comment
delete ADD32rr#0
;--- STAGE.edit
function k early
;--- COMMAND.edit
function k ssa
# Comments and empty lines count.

remove ADD32rr#0
;--- OPCODE.edit
function k ssa
delete FMA#0
;--- INSTRUCTION.edit
function k ssa
delete ADD32rr
;--- NUMBER.edit
function k ssa
delete @99
;--- NAME.edit
function k ssa
set ADD32rr#0 1 = %new
;--- OPERAND.edit
function k ssa
set ADD32rr#0 1 = seven
;--- WITH.edit
function k ssa
clone ADD32rr#0 before Return#0 with 1
;--- EMPTY.edit
function k ssa
insert before Return#0: %x:B32 =
;--- SOURCE.edit
function k ssa
insert before Return#0: %x:B32 = ADD32ri %1 3 from ADD32rr#0
;--- BOTH.edit
function k
insert before ADD32rr#0: %one:B32 = ADD32ri %1 1
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %sum = add i32 %a, %b
  store volatile i32 %sum, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @other(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %sum = add i32 %a, %b
  store volatile i32 %sum, ptr addrspace(1) %p
  ret void
}
