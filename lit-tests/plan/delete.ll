; Instructions can be deleted, as long as nothing needs what they define.

; RUN: split-file %s %t
; RUN: %edited STORE-SSA
; RUN: %edited STORE-LATE
; RUN: %edited CHAIN
; RUN: %refused USED
; RUN: %refused TWICE
; RUN: %refused RETURN

; STORE-SSA: add.s32 [[SUM:%r[0-9]+]],
; STORE-SSA: xor.b32 [[MIXED:%r[0-9]+]],
; STORE-SSA-NOT: st.volatile.global.b32 {{.*}}, [[SUM]];
; STORE-SSA: st.volatile.global.b32 {{.*}}, [[MIXED]];
; STORE-SSA-NEXT: ret;

; STORE-LATE: add.s32 [[SUM:%r[0-9]+]],
; STORE-LATE: xor.b32 [[MIXED:%r[0-9]+]],
; STORE-LATE: st.volatile.global.b32 {{.*}}, [[SUM]];
; STORE-LATE-NEXT: ret;

; CHAIN: add.s32
; CHAIN-NOT: mul.lo.s32
; CHAIN-NOT: xor.b32
; CHAIN: st.volatile
; CHAIN-NEXT: ret;

; USED: function 'k' at stage ssa is left as LLVM made it: malformed plan: register {{[0-9]+}} is used, but nothing defines it
; TWICE: function 'k' at stage ssa is left as LLVM made it: edit script: line 3: the instruction was deleted
; RETURN: function 'k' at stage late is left as LLVM made it:

;--- STORE-SSA.edit
function k ssa
delete ST_i32#0
;--- STORE-LATE.edit
function k late
delete ST_i32#1
;--- CHAIN.edit
function k ssa
delete ST_i32#1
delete XOR_b32rr#0
delete MULT32rr#0
;--- USED.edit
function k ssa
delete XOR_b32rr#0
;--- TWICE.edit
function k ssa
delete ST_i32#0
delete ST_i32#0
;--- RETURN.edit
function k late
delete Return#0
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
