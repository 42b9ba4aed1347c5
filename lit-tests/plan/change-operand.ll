; Operands can be changed to registers and immediates that the opcode takes there.

; RUN: split-file %s %t
; RUN: %edited REGISTER
; RUN: %edited IMMEDIATE
; RUN: %edited SYMBOL
; RUN: %refused CLASS
; RUN: %refused KIND
; RUN: %refused NUMBER
; RUN: %refused DEFINITION

; REGISTER: ld.param.b32 [[A:%r[0-9]+]], [k_param_1];
; REGISTER: add.s32 {{%r[0-9]+}}, [[A]], [[A]];

; The displacement of the second store.
; IMMEDIATE: st.volatile.global.b32 [%rd1],
; IMMEDIATE: st.volatile.global.b32 [%rd1+24],

; SYMBOL: ld.param.b32 {{%r[0-9]+}}, [k_param_1];
; SYMBOL: ld.param.b32 {{%r[0-9]+}}, [k_param_1];

; CLASS: at stage ssa {{.*}}: malformed plan: operand 1 of instruction {{[0-9]+}} has register class B64, but B32 is wanted
; KIND: at stage ssa {{.*}}: malformed plan: operand 2 of instruction {{[0-9]+}} must be a register
; NUMBER: at stage late {{.*}}: edit script: line 2: the instruction has no operand 9
; DEFINITION: at stage ssa {{.*}}: malformed plan: register {{[0-9]+}} is defined twice in SSA form

;--- REGISTER.edit
function k ssa
set ADD32rr#0 2 = %1
;--- IMMEDIATE.edit
function k late
set ST_i32#1 6 = 24
;--- SYMBOL.edit
function k late
set LD_i32#1 7 = LD_i32#0.7
;--- CLASS.edit
function k ssa
set ADD32rr#0 1 = %0
;--- KIND.edit
function k ssa
set ADD32rr#0 2 = 7
;--- NUMBER.edit
function k late
set ADD32rr#0 9 = 7
;--- DEFINITION.edit
function k ssa
set MULT32rr#0 0 = %3
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
