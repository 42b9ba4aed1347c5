; Instructions can be moved within a block, before what needs them and after what they need.

; RUN: split-file %s %t
; RUN: %edited SSA
; RUN: %edited LATE
; RUN: %refused ORDER
; RUN: %refused PHI
; RUN: %refused SELF

; SSA: ld.param.b32 {{%r[0-9]+}}, [k_param_2];
; SSA: ld.param.b32 {{%r[0-9]+}}, [k_param_1];

; LATE: st.volatile.global.b32 [%rd1], %r3;
; LATE: mul.lo.s32
; LATE-NEXT: xor.b32 %r5,
; LATE-NEXT: st.volatile.global.b32 [%rd1], %r5;

; ORDER: at stage ssa {{.*}}: malformed plan: register {{[0-9]+}} is used where it may not be defined yet
; PHI: at stage ssa {{.*}}: malformed plan: block 0 has code after its terminator
; SELF: at stage ssa {{.*}}: edit script: line 2: the instruction was deleted

;--- SSA.edit
function k ssa
move LD_i32#1 before LD_i64#0
;--- LATE.edit
function k late
move ST_i32#0 after ADD32rr#0
;--- ORDER.edit
function k ssa
move MULT32rr#0 before ADD32rr#0
;--- PHI.edit
function k ssa
move ST_i32#0 after Return#0
;--- SELF.edit
function k ssa
move MULT32rr#0 after MULT32rr#0
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
