; Blocks that lead nowhere: traps, code that is never reached, and blocks without an end, which are refused.

; RUN: split-file %s %t
; RUN: %edited TRAP
; RUN: %edited MOVED
; RUN: %refused CUT
; RUN: %refused NEW
; RUN: %refused EXIT

; TRAP: add.s32
; TRAP: trap; exit;

; MOVED: st.volatile.global.b32
; MOVED: trap; exit;

; CUT: at stage ssa {{.*}}: malformed plan: block 1 falls through without an edge
; NEW: at stage ssa {{.*}}: malformed plan: block 5 falls through without an edge
; EXIT: at stage ssa {{.*}}: malformed plan: block 4 falls through without an edge

;--- TRAP.edit
function k ssa
insert before trapexitinst#0: %t:B32 = ADD32ri %1 5
;--- MOVED.edit
function k ssa
move ST_i32#0 before trapexitinst#0
delete LD_i64#0
insert before trapexitinst#0: %0 = MOV_B64_i 16
move ST_i32#0 before trapexitinst#0
;--- CUT.edit
function k ssa
delete trapexitinst#0
;--- NEW.edit
function k ssa
new-block nowhere after bb.4
;--- EXIT.edit
function k ssa
delete Return#0
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.trap() noreturn
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %c = icmp eq i32 %a, 0
  br i1 %c, label %t, label %f
t:
  call void @llvm.trap()
  unreachable
f:
  %d = icmp eq i32 %b, 0
  br i1 %d, label %g, label %h
g:
  unreachable
h:
  store volatile i32 %a, ptr addrspace(1) %p
  ret void
}
