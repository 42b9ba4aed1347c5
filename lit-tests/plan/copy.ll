; COPY between registers of a class. The coalescer removes one that is not needed; the late stage runs after it.

; RUN: split-file %s %t
; RUN: %edited SSA
; RUN: %edited-mir SSA-MIR oriel-ssa
; RUN: %edited LATE
; RUN: %edited WIDE
; RUN: %refused CLASSES

; SSA-NOT: mov.b32
; SSA: add.s32 [[SUM:%r[0-9]+]],
; SSA-NEXT: mul.lo.s32 {{%r[0-9]+}}, [[SUM]],

; SSA-MIR: [[SUM:%[0-9]+]]:b32 = ADD32rr
; SSA-MIR-NEXT: [[COPY:%[0-9]+]]:b32 = COPY [[SUM]]
; SSA-MIR-NEXT: MULT32rr [[COPY]],

; LATE: add.s32 [[SUM:%r[0-9]+]],
; LATE-NEXT: mov.b32 [[COPY:%r[0-9]+]], [[SUM]];
; LATE-NEXT: mul.lo.s32 {{%r[0-9]+}}, [[COPY]],

; WIDE: mov.b64 [[COPY:%rd[0-9]+]], %rd1;
; WIDE: st.volatile.global.b32 {{\[}}[[COPY]]],

; CLASSES: at stage ssa {{.*}}: malformed plan: instruction {{[0-9]+}} copies between register classes

;--- SSA.edit
function k ssa
insert after ADD32rr#0: %copy:B32 = COPY %3
set MULT32rr#0 1 = %copy
;--- SSA-MIR.edit
function k ssa
insert after ADD32rr#0: %copy:B32 = COPY %3
set MULT32rr#0 1 = %copy
;--- LATE.edit
function k late
insert after ADD32rr#0: %copy:B32 = COPY %3
set MULT32rr#0 1 = %copy
;--- WIDE.edit
function k late
insert before ADD32rr#0: %copy:B64 = COPY %0
set ST_i32#0 5 = %copy
;--- CLASSES.edit
function k ssa
insert after ADD32rr#0: %copy:B64 = COPY %3
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
