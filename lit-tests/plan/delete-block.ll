; Blocks that nothing leads to any more can be deleted; PHIs behind them lose a value.

; RUN: split-file %s %t
; RUN: %edited-mir SSA oriel-ssa
; RUN: %edited LATE
; RUN: %refused REACHED
; RUN: %refused ENTRY
; RUN: %refused TWICE
; RUN: %refused VALUE

; SSA-NOT: bb.2
; SSA: bb.4.latch:
; SSA-NEXT: successors: %bb.1({{.*}}), %bb.5(
; SSA: PHI {{%[0-9]+}}, %bb.3{{$}}

; LATE-NOT: st.volatile.global.b32 [%rd1], 2;
; LATE: st.volatile.global.b32 [%rd1], 1;
; LATE-NOT: st.volatile.global.b32 [%rd1], 2;

; REACHED: at stage late {{.*}}: edit script: line 2: the block still has predecessors
; ENTRY: at stage late {{.*}}: edit script: line 2: the entry block must stay first
; TWICE: at stage late {{.*}}: edit script: line 4: the block was deleted
; VALUE: at stage late {{.*}}: malformed plan: register {{[0-9]+}} is used where it may not be defined yet

;--- SSA.edit
function k ssa
retarget bb.1 from bb.2 to bb.3
delete-block bb.2
;--- LATE.edit
function k late
retarget bb.1 from bb.3 to bb.2
delete-block bb.3
;--- REACHED.edit
function k late
delete-block bb.3
;--- ENTRY.edit
function k late
delete-block bb.0
;--- TWICE.edit
function k late
retarget bb.1 from bb.3 to bb.2
delete-block bb.3
delete-block bb.3
;--- VALUE.edit
function k late
retarget bb.1 from bb.3 to bb.4
delete-block bb.3
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
