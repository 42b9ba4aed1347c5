; New blocks: on an edge, reached by a new branch, and dropped again.

; RUN: split-file %s %t
; RUN: %edited-mir SSA oriel-ssa
; RUN: %edited EDGE
; RUN: %edited BRANCH
; RUN: %refused UNREACHED
; RUN: %refused NO-EDGE
; RUN: %refused NO-EXIT
; RUN: %refused PHI
; RUN: %refused SECOND-VALUE

; SSA: bb.4.latch:
; SSA: PHI {{%[0-9]+}}, %bb.3, {{%[0-9]+}}, %bb.[[NEW:[0-9]+]]
; SSA: bb.[[NEW]].exit:
; SSA-NEXT: successors: %bb.4(0x80000000)
; SSA: ST_i32 3,
; SSA-NEXT: GOTO %bb.4

; EDGE: st.volatile.global.b32 [%rd1], 1;
; EDGE: st.volatile.global.b32 [%rd1], 3;
; EDGE: bra.uni

; BRANCH: setp.eq.b32 [[P:%p[0-9]+]], {{%r[0-9]+}}, 5;
; BRANCH: @[[P]] bra $L__BB0_[[NEW:[0-9]+]];
; BRANCH: $L__BB0_[[NEW]]:
; BRANCH-NOT: bra
; BRANCH: st.volatile.global.b32 [%rd1], 3;

; UNREACHED: at stage late {{.*}}: malformed plan: block 2 branches to block {{[0-9]+}} without an edge
; NO-EDGE: at stage late {{.*}}: malformed plan: block 6 falls through without an edge
; NO-EXIT: at stage late {{.*}}: malformed plan: block {{[0-9]+}} has an edge to block {{[0-9]+}}, but does not reach it
; PHI: at stage ssa {{.*}}: edit script: line 5: the target has PHIs, which would need a value for the new edge
; SECOND-VALUE: at stage ssa {{.*}}: edit script: line 6: the target has PHIs, which would need a value for the new edge

;--- SSA.edit
function k ssa
new-block detour after bb.5
append detour: ST_i32 3 8 0 1 32 %3 0
append detour: GOTO bb.4
edge detour to bb.4
retarget bb.2 from bb.4 to detour
;--- EDGE.edit
function k late
new-block detour after bb.2
append detour: ST_i32 3 8 0 1 32 %3 0
append detour: GOTO bb.4
edge detour to bb.4
retarget bb.2 from bb.4 to detour
;--- BRANCH.edit
function k late
split before ST_i32#0 as tail
new-block side after bb.5
append side: ST_i32 3 8 0 1 32 %3 0
append side: GOTO tail
edge side to tail
append bb.2: %p:B1 = SETP_i32ri %9 5 0
append bb.2: CBranch %p side
edge bb.2 to side
;--- UNREACHED.edit
function k late
new-block detour after bb.2
append detour: GOTO bb.4
edge detour to bb.4
set GOTO#1 0 = detour
;--- NO-EDGE.edit
function k late
new-block detour after bb.2
append detour: ST_i32 3 8 0 1 32 %3 0
;--- NO-EXIT.edit
function k late
new-block detour after bb.5
append detour: ST_i32 3 8 0 1 32 %3 0
edge detour to bb.4
;--- PHI.edit
function k ssa
new-block detour after bb.5
append detour: GOTO bb.4
edge detour to bb.4
retarget bb.0 from bb.1 to bb.4
;--- SECOND-VALUE.edit
function k ssa
new-block detour after bb.5
append detour: GOTO bb.4
edge detour to bb.4
retarget bb.2 from bb.4 to detour
retarget bb.3 from bb.4 to detour
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %latch ]
  %c = icmp eq i32 %i, 77
  br i1 %c, label %then, label %else
then:
  store volatile i32 1, ptr addrspace(1) %p
  br label %latch
else:
  store volatile i32 2, ptr addrspace(1) %p
  br label %latch
latch:
  %v = phi i32 [ 10, %then ], [ %i, %else ]
  store volatile i32 %v, ptr addrspace(1) %p
  %j = add i32 %i, 1
  %d = icmp slt i32 %j, %n
  br i1 %d, label %head, label %exit
exit:
  ret void
}
