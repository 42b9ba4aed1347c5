; A register can be replaced by another of its class, old or new, in all operands.

; RUN: split-file %s %t
; RUN: %edited OLD
; RUN: %edited NEW
; RUN: %edited LATE
; RUN: %refused UNKNOWN
; RUN: %refused CLASS

; The product takes the place of the mixed value, whose definition goes.
; OLD: mul.lo.s32 [[PRODUCT:%r[0-9]+]],
; OLD-NOT: xor
; OLD: st.volatile.global.b32 [%rd1], [[PRODUCT]];
; OLD-NEXT: ret;

; NEW: add.s32 [[SUM:%r[0-9]+]],
; NEW-NEXT: mul.lo.s32 {{%r[0-9]+}}, [[SUM]],
; NEW: st.volatile.global.b32 [%rd1], [[SUM]];

; LATE: ld.param.b32 [[B:%r[0-9]+]], [k_param_2];
; LATE: add.s32 {{%r[0-9]+}}, [[B]], [[B]];
; LATE: xor.b32 {{%r[0-9]+}}, {{%r[0-9]+}}, [[B]];

; UNKNOWN: at stage ssa {{.*}}: edit script: line 2: there is no register %99
; CLASS: at stage ssa {{.*}}: malformed plan: {{.*}} has register class B64, but B32 is wanted

;--- OLD.edit
function k ssa
delete XOR_b32rr#0
replace %5 with %4
;--- NEW.edit
function k ssa
replace %3 with %fresh:B32
;--- LATE.edit
function k late
delete LD_i32#0
replace %1 with %2
;--- UNKNOWN.edit
function k ssa
replace %3 with %99
;--- CLASS.edit
function k ssa
delete ADD32rr#0
replace %3 with %0
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
