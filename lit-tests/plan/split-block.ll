; A block can be split anywhere but among its PHIs and terminators; PHIs of its successors follow.

; RUN: split-file %s %t
; RUN: %edited-mir SSA oriel-ssa
; RUN: %edited-mir PHIS oriel-ssa
; RUN: %edited LATE
; RUN: %edited WHOLE
; RUN: %refused AMONG-PHIS
; RUN: %refused TERMINATOR

; The value of the block that was split comes out of its second part now.
; SSA: bb.2.then:
; SSA-NEXT: successors: %bb.[[TAIL:[0-9]+]](0x80000000)
; SSA: ST_i32 1,
; SSA: bb.[[TAIL]].then:
; SSA-NEXT: successors: %bb.4(0x80000000)
; SSA: [[TEN:%[0-9]+]]:b32 = MOV_B32_i 10
; SSA: bb.4.latch:
; SSA: PHI {{%[0-9]+}}, %bb.3, [[TEN]], %bb.[[TAIL]]

; A loop's header: its PHI stays, the back edge leads to the first part.
; PHIS: bb.1.head:
; PHIS: PHI {{%[0-9]+}}, %bb.0, {{%[0-9]+}}, %bb.4
; PHIS: bb.[[TAIL:[0-9]+]].head:
; PHIS-NEXT: successors: %bb.2(0x40000000), %bb.3(0x40000000)
; PHIS: SETP_i32ri
; PHIS: bb.4.latch:
; PHIS-NEXT: successors: %bb.1(

; LATE: st.volatile.global.b32 [%rd1], 7;
; LATE: st.volatile.global.b32 [%rd1], 1;

; WHOLE: st.volatile.global.b32 [%rd1], 1;
; WHOLE: bra.uni

; AMONG-PHIS: at stage ssa {{.*}}: edit script: line 2: a block cannot be split there
; TERMINATOR: at stage ssa {{.*}}: edit script: line 2: a block cannot be split there

;--- SSA.edit
function k ssa
split before MOV_B32_i#1 as tail
;--- PHIS.edit
function k ssa
split before SETP_i32ri#0 as tail
;--- LATE.edit
function k late
split before ST_i32#0 as tail
insert before ST_i32#0: ST_i32 7 8 0 1 32 %3 0
;--- WHOLE.edit
function k late
split before ST_i32#0 as tail
append bb.2: GOTO tail
;--- AMONG-PHIS.edit
function k ssa
split before PHI#0 as tail
;--- TERMINATOR.edit
function k ssa
split before GOTO#0 as tail
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
