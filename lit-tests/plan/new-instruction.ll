; New instructions by LLVM's name of the opcode, before and after others and at the end of a block.

; RUN: split-file %s %t
; RUN: %edited SSA
; RUN: %edited LATE
; RUN: %edited INSTEAD
; RUN: %edited MEMORY
; RUN: %refused NAME
; RUN: %refused COUNT
; RUN: %refused ORDER
; RUN: %refused ASM
; RUN: %refused RESULT
; RUN: %refused TERMINATOR

; SSA: add.s32 [[SUM:%r[0-9]+]],
; SSA-NEXT: shl.b32 [[TWICE:%r[0-9]+]], [[SUM]], 1;
; SSA-NEXT: mul.lo.s32 {{%r[0-9]+}}, [[TWICE]],

; LATE: add.s32 [[SUM:%r[0-9]+]],
; LATE-NEXT: add.s32 [[SUM]], [[SUM]], 3;
; LATE-NEXT: mul.lo.s32

; A new instruction in the place of an old one.
; INSTEAD: add.s32
; INSTEAD-NEXT: sub.s32
; INSTEAD-NOT: mul.lo.s32

; A new store keeps what LLVM knows of the old one's access.
; MEMORY: st.volatile.global.b32 [%rd1],
; MEMORY-NEXT: st.volatile.global.b32 [%rd1], 5;

; NAME: at stage ssa {{.*}}: malformed plan: there is no opcode 'ADD33rr'
; COUNT: at stage ssa {{.*}}: malformed plan: instruction {{[0-9]+}} has 2 operands, but its opcode takes 3
; ORDER: at stage ssa {{.*}}: malformed plan: register {{[0-9]+}} is used where it may not be defined yet
; ASM: at stage ssa {{.*}}: malformed plan: opcode 'INLINEASM' cannot be created
; RESULT: at stage ssa {{.*}}: malformed plan: operand 0 of instruction {{[0-9]+}} must be a definition
; TERMINATOR: at stage ssa {{.*}}: malformed plan: block 0 has code after its terminator

;--- SSA.edit
function k ssa
insert after ADD32rr#0: %twice:B32 = SHL32_ri %3 1
set MULT32rr#0 1 = %twice
;--- LATE.edit
function k late
insert after ADD32rr#0: %3 = ADD32ri %3 3
;--- INSTEAD.edit
function k ssa
insert after ADD32rr#0: %other:B32 = SUB32rr %3 %1
delete MULT32rr#0
set XOR_b32rr#0 1 = %other
;--- MEMORY.edit
function k late
delete ST_i32#1
insert before Return#0: ST_i32 5 8 0 1 32 %0 0 from ST_i32#1
;--- NAME.edit
function k ssa
insert after ADD32rr#0: %twice:B32 = ADD33rr %3 %3
;--- COUNT.edit
function k ssa
insert after ADD32rr#0: %twice:B32 = ADD32rr %3
;--- ORDER.edit
function k ssa
insert before ADD32rr#0: %twice:B32 = ADD32rr %3 %3
;--- ASM.edit
function k ssa
insert before ADD32rr#0: INLINEASM 0 0
;--- RESULT.edit
function k ssa
insert after ADD32rr#0: ADD32rr %3 %3 %3
;--- TERMINATOR.edit
function k ssa
append bb.0: %twice:B32 = ADD32rr %3 %3
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %sum = add i32 %a, %b
  %product = mul i32 %sum, %a
  %mixed = xor i32 %product, %b
  store volatile i32 %sum, ptr addrspace(1) %p
  store volatile i32 %mixed, ptr addrspace(1) %p
  ret void
}
