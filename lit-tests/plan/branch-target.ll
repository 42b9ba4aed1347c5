; Branch targets: conditional, unconditional and fall-through edges lead elsewhere; PHIs lose what no longer comes.

; RUN: split-file %s %t
; RUN: %edited-mir SSA oriel-ssa
; RUN: %edited CONDITIONAL
; RUN: %edited UNCONDITIONAL
; RUN: %edited-mir SAME oriel-late
; RUN: %refused NO-EDGE
; RUN: %refused PHI
; RUN: %refused ONLY-BRANCH
; RUN: %refused FALL-THROUGH
; RUN: %refused UNDEFINED

; The else part is no longer reached from the header; its value comes from the then part only.
; SSA: bb.1.head:
; SSA-NEXT: successors: %bb.2(0x40000000), %bb.5(0x40000000)
; SSA: CBranch {{.*}}, %bb.5
; SSA-NOT: bb.3
; SSA: bb.4.latch:
; SSA: PHI {{%[0-9]+}}, %bb.2
; SSA-NEXT: ST_i32

; CONDITIONAL: setp.ne.b32 [[P:%p[0-9]+]], {{%r[0-9]+}}, 77;
; CONDITIONAL-NEXT: @[[P]] bra $L__BB0_[[EXIT:[0-9]+]];
; CONDITIONAL: $L__BB0_[[EXIT]]:
; CONDITIONAL-NEXT: ret;

; UNCONDITIONAL: st.volatile.global.b32 [%rd1], 1;
; UNCONDITIONAL: $L__BB0_{{[0-9]+}}: // %exit
; UNCONDITIONAL-NEXT: ret;

; Both ways of a branch lead to one block: that is one edge with the probability of both.
; SAME: bb.1.head:
; SAME-NEXT: successors: %bb.2(0x80000000)
; SAME: CBranch {{.*}}, %bb.2

; NO-EDGE: at stage late {{.*}}: edit script: line 2: there is no edge between these blocks
; PHI: at stage ssa {{.*}}: edit script: line 2: the target has PHIs, which would need a value for the new edge
; ONLY-BRANCH: at stage late {{.*}}: malformed plan: block 1 branches to block 5 without an edge
; FALL-THROUGH: at stage late {{.*}}: malformed plan: block 3 has an edge to block 5, but does not reach it
; UNDEFINED: at stage late {{.*}}: malformed plan: register {{[0-9]+}} is used where it may not be defined yet

;--- SSA.edit
function k ssa
retarget bb.1 from bb.3 to bb.5
retarget bb.3 from bb.4 to bb.5
append bb.3: GOTO bb.5
delete-block bb.3
;--- CONDITIONAL.edit
function k late
retarget bb.1 from bb.3 to bb.5
delete-block bb.3
;--- UNCONDITIONAL.edit
function k late
retarget bb.2 from bb.4 to bb.5
;--- SAME.edit
function k late
retarget bb.1 from bb.3 to bb.2
delete-block bb.3
;--- NO-EDGE.edit
function k late
retarget bb.1 from bb.5 to bb.2
;--- PHI.edit
function k ssa
retarget bb.1 from bb.3 to bb.4
;--- ONLY-BRANCH.edit
function k late
set CBranch#0 1 = bb.5
;--- FALL-THROUGH.edit
function k late
retarget bb.3 from bb.4 to bb.5
;--- UNDEFINED.edit
function k late
retarget bb.0 from bb.1 to bb.4
append bb.0: GOTO bb.4
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
