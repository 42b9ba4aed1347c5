; New registers of every class that a kernel can have.

; RUN: split-file %s %t
; RUN: %edited EVERY
; RUN: %edited LATE
; RUN: %refused UNKNOWN
; RUN: %refused SPECIAL
; RUN: %refused UNDEFINED

; EVERY-DAG: .reg .pred %p<
; EVERY-DAG: .reg .b16 %rs<
; EVERY-DAG: .reg .b32 %r<
; EVERY-DAG: .reg .b64 %rd<
; EVERY: setp.eq.b32 [[P:%p[0-9]+]], [[A:%r[0-9]+]], 5;
; EVERY-NEXT: cvt.u16.u32 [[H:%rs[0-9]+]], [[A]];
; EVERY-NEXT: cvt.u64.u32 [[W:%rd[0-9]+]], [[A]];
; EVERY-NEXT: st.global.b64 {{.*}}, [[W]];
; EVERY-NEXT: st.global.b16 {{.*}}, [[H]];
; EVERY-NEXT: selp.b32 [[S:%r[0-9]+]], 1, 2, [[P]];
; EVERY-NEXT: st.global.b32 {{.*}}, [[S]];

; LATE: .reg .b128 %rq<
; LATE: mov.b64 [[D:%rd[0-9]+]], 5;
; LATE-NEXT: mov.b128 [[Q:%rq[0-9]+]], {[[D]], [[D]]};
; LATE-NEXT: mov.b128 {[[D]], [[D]]}, [[Q]];

; UNKNOWN: at stage ssa {{.*}}: edit script: line 2: there is no register class B24
; SPECIAL: at stage ssa {{.*}}: malformed plan: new register 0 has a reserved class
; UNDEFINED: at stage ssa {{.*}}: malformed plan: register {{[0-9]+}} is used, but nothing defines it

;--- EVERY.edit
function k ssa
insert before ADD32rr#0: %p:B1 = SETP_i32ri %1 5 0
insert before ADD32rr#0: %h:B16 = CVT_u16_u32 %1 0
insert before ADD32rr#0: %w:B64 = CVT_u64_u32 %1 0
insert before ADD32rr#0: ST_i64 %w 0 0 1 64 %0 8
insert before ADD32rr#0: ST_i16 %h 0 0 1 16 %0 16
insert before ADD32rr#0: %s:B32 = SELP_b32ii 1 2 %p
insert before ADD32rr#0: ST_i32 %s 0 0 1 32 %0 24
;--- LATE.edit
function k late
insert before ADD32rr#0: %d:B64 = MOV_B64_i 5
insert before ADD32rr#0: %q:B128 = V2I64toI128 %d %d
insert before ADD32rr#0: %d %d = I128toV2I64 %q
;--- UNKNOWN.edit
function k ssa
insert before ADD32rr#0: %w:B24 = IMPLICIT_DEF
;--- SPECIAL.edit
function k ssa
insert before ADD32rr#0: %w:SpecialRegs = IMPLICIT_DEF
;--- UNDEFINED.edit
function k ssa
set ADD32rr#0 1 = %nothing:B32
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
