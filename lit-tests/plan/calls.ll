; Call sequences: what stands in them can be changed, and they move with the blocks around them.

; RUN: split-file %s %t
; RUN: %edited ARGUMENT
; RUN: %edited LATE
; RUN: %edited SPLIT
; RUN: %edited REMOVED
; RUN: %refused CLONE
; RUN: %refused RESULT

; ARGUMENT: ld.param.b32 [[B:%r[0-9]+]], [k_param_2];
; ARGUMENT: // callseq 0, 0
; ARGUMENT: st.param.b32 [param0], [[B]];
; ARGUMENT: call.uni (retval0), helper, (param0, param1);

; LATE: st.param.b32 [param0], 77;
; LATE: call.uni

; SPLIT: // callseq 0, 0
; SPLIT: call.uni
; SPLIT: } // callseq 0
; SPLIT-NEXT: st.volatile.global.b32 [%rd1], 3;

; REMOVED-NOT: callseq
; REMOVED: st.global.b32

; CLONE: at stage ssa {{.*}}: edit script: line 2: the instruction must not be duplicated
; RESULT: at stage ssa {{.*}}: malformed plan: register {{[0-9]+}} is used, but nothing defines it

;--- ARGUMENT.edit
function k ssa
set ST_i32#0 0 = %2
;--- LATE.edit
function k late
set ST_i32#0 0 = 77
;--- SPLIT.edit
function k late
split before ST_i32#2 as tail
insert before ST_i32#2: ST_i32 3 8 0 1 32 LD_i64#0.0 0
;--- REMOVED.edit
function k ssa
delete Callseq_Start#0
delete DECLARE_PARAM_scalar#0
delete DECLARE_PARAM_scalar#1
delete DECLARE_PARAM_scalar#2
delete ST_i32#0
delete ST_i32#1
delete CALL_UNI#0
delete LD_i32#2
delete Callseq_End#0
set ST_i32#2 0 = %1
;--- CLONE.edit
function k ssa
clone CALL_UNI#0 before ST_i32#2
;--- RESULT.edit
function k ssa
delete LD_i32#2
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
declare i32 @helper(i32, i32)
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %s = add i32 %a, %b
  %r = call i32 @helper(i32 %a, i32 %s)
  store i32 %r, ptr addrspace(1) %p
  ret void
}
