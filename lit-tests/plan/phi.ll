; PHIs follow every change of the control flow that brings their values.

; RUN: split-file %s %t
; RUN: %edited-mir SPLIT-SELF oriel-ssa
; RUN: %edited-mir DETOUR oriel-ssa
; RUN: %edited DETOUR-PTX
; RUN: %edited NEW-PHI
; RUN: %edited SWAPPED
; RUN: %edited SAME-VALUE
; RUN: %refused MISSING
; RUN: %refused CLASS
; RUN: %refused NOT-FIRST

; A loop of one block: what came from it comes from its second part, to itself and to the exit.
; SPLIT-SELF: bb.2.loop:
; SPLIT-SELF-NEXT: successors: %bb.[[TAIL:[0-9]+]](0x80000000)
; SPLIT-SELF: PHI {{%[0-9]+}}, %bb.1, [[NEXT:%[0-9]+]], %bb.[[TAIL]]
; SPLIT-SELF: bb.[[TAIL]].loop:
; SPLIT-SELF-NEXT: successors: %bb.2({{.*}}), %bb.3(
; SPLIT-SELF: [[NEXT]]:b32 = ADD32ri
; SPLIT-SELF: bb.3.exit:
; SPLIT-SELF: PHI {{%[0-9]+}}, %bb.0, {{%[0-9]+}}, %bb.[[TAIL]]

; DETOUR: bb.2.loop:
; DETOUR-NEXT: successors: %bb.[[NEW:[0-9]+]]({{.*}}), %bb.3(
; DETOUR: PHI {{%[0-9]+}}, %bb.1, {{%[0-9]+}}, %bb.[[NEW]]
; DETOUR: CBranch {{.*}}, %bb.[[NEW]]
; DETOUR: bb.[[NEW]].exit:
; DETOUR: GOTO %bb.2

; DETOUR-PTX: setp.lt.s32
; DETOUR-PTX: st.volatile.global.b32 {{.*}}, 9;
; DETOUR-PTX: ret;

; NEW-PHI: %exit
; NEW-PHI: st.volatile.global.b32 [[ADDRESS:.*]], [[FIRST:%r[0-9]+]];
; NEW-PHI-NEXT: st.volatile.global.b32 [[ADDRESS]], {{%r[0-9]+}};
; NEW-PHI-NEXT: ret;

; SWAPPED: ret;

; The same value twice over one detour is no loss.
; SAME-VALUE: st.volatile.global.b32 {{.*}}, 4;

; MISSING: at stage ssa {{.*}}: malformed plan: the PHI at instruction {{[0-9]+}} does not match the predecessors of block 3
; CLASS: at stage ssa {{.*}}: malformed plan: the PHI at instruction {{[0-9]+}} is malformed
; NOT-FIRST: at stage ssa {{.*}}: malformed plan: block 3 has a PHI after other code

;--- SPLIT-SELF.edit
function k ssa
split before ADD32rr#0 as tail
;--- DETOUR.edit
function k ssa
new-block detour after bb.3
append detour: GOTO bb.2
edge detour to bb.2
retarget bb.2 from bb.2 to detour
;--- DETOUR-PTX.edit
function k ssa
new-block detour after bb.3
append detour: ST_i32 9 8 0 1 32 LD_i64#0.0 0
append detour: GOTO bb.2
edge detour to bb.2
retarget bb.2 from bb.2 to detour
;--- NEW-PHI.edit
function k ssa
insert before ST_i32#0: %other:B32 = PHI SETP_i32ri#0.1 bb.0 ADD32rr#0.0 bb.2
clone ST_i32#0 before ST_i32#0 with 0 = %other
;--- SWAPPED.edit
function k ssa
move PHI#1 before PHI#0
;--- SAME-VALUE.edit
function same ssa
new-block detour after bb.3
append detour: ST_i32 4 8 0 1 32 LD_i64#0.0 0
append detour: GOTO bb.3
edge detour to bb.3
retarget bb.1 from bb.3 to detour
retarget bb.2 from bb.3 to detour
append bb.2: GOTO detour
;--- MISSING.edit
function k ssa
insert before ST_i32#0: %other:B32 = PHI ADD32rr#0.0 bb.2
;--- CLASS.edit
function k ssa
insert before ST_i32#0: %other:B32 = PHI LD_i64#0.0 bb.0 ADD32rr#0.0 bb.2
;--- NOT-FIRST.edit
function k ssa
insert after ST_i32#0: %other:B32 = PHI SETP_i32ri#0.1 bb.0 ADD32rr#0.0 bb.2
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %loop, label %exit
loop:
  %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %sum.next, %loop ]
  %value = load volatile i32, ptr addrspace(1) %p
  %sum.next = add i32 %sum, %value
  %i.next = add i32 %i, 1
  %more = icmp slt i32 %i.next, %n
  br i1 %more, label %loop, label %exit
exit:
  %result = phi i32 [ 0, %entry ], [ %sum.next, %loop ]
  store volatile i32 %result, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @same(ptr addrspace(1) %p, i32 %n) {
entry:
  switch i32 %n, label %exit [ i32 1, label %a
                               i32 2, label %b ]
a:
  store volatile i32 1, ptr addrspace(1) %p
  br label %exit
b:
  store volatile i32 2, ptr addrspace(1) %p
  br label %exit
exit:
  %v = phi i32 [ 5, %entry ], [ %n, %a ], [ %n, %b ]
  store volatile i32 %v, ptr addrspace(1) %p
  ret void
}
