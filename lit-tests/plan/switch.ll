; Branch tables: their items are retargeted with the edge, and LLVM's own table follows.

; RUN: split-file %s %t
; RUN: %edited ONE
; RUN: %edited TWICE
; RUN: %edited LAST
; RUN: %edited DETOUR
; RUN: %edited-mir TABLE oriel-late
; RUN: %edited SPLIT
; RUN: %refused DELETED
; RUN: %refused ITEM
; RUN: %refused TERMINATOR

; ONE: .branchtargets
; ONE-NEXT: [[A:\$L__BB0_[0-9]+]],
; ONE-NEXT: [[C:\$L__BB0_[0-9]+]],
; ONE-NEXT: [[C]],
; ONE-NEXT: [[A]],
; ONE-NOT: st.volatile.global.b32 {{.*}}, 2;
; ONE: ret;

; The block that two items lead to.
; TWICE: .branchtargets
; TWICE-NEXT: [[B:\$L__BB0_[0-9]+]],
; TWICE-NEXT: [[B]],
; TWICE-NEXT: [[C:\$L__BB0_[0-9]+]],
; TWICE-NEXT: [[B]],
; TWICE-NOT: st.volatile.global.b32 {{.*}}, 1;
; TWICE: ret;

; LAST: .branchtargets
; LAST-NEXT: [[A:\$L__BB0_[0-9]+]],
; LAST-NEXT: $L__BB0_
; LAST-NEXT: $L__BB0_
; LAST-NEXT: [[A]],
; LAST-NEXT: [[A]];
; LAST-NOT: st.volatile.global.b32 {{.*}}, 5;
; LAST: ret;

; DETOUR: .branchtargets
; DETOUR-NEXT: [[NEW:\$L__BB0_[0-9]+]],
; DETOUR-NEXT: [[B:\$L__BB0_[0-9]+]],
; DETOUR-NEXT: [[C:\$L__BB0_[0-9]+]],
; DETOUR-NEXT: [[NEW]],
; DETOUR: [[NEW]]:
; DETOUR: st.volatile.global.b32 {{.*}}, 9;

; TABLE: jumpTable:
; TABLE: blocks: [ '%bb.2', '%bb.4', '%bb.4', '%bb.2', '%bb.5' ]
; TABLE: BRX_ITEM %bb.2
; TABLE-NEXT: BRX_ITEM %bb.4
; TABLE-NEXT: BRX_ITEM %bb.4

; SPLIT: .branchtargets
; SPLIT-NEXT: [[A:\$L__BB0_[0-9]+]],
; SPLIT: [[A]]:
; SPLIT: st.volatile.global.b32 {{.*}}, 9;

; DELETED: at stage late {{.*}}: edit script: line 2: the block still has predecessors
; ITEM: at stage late {{.*}}: malformed plan: block 1 branches to block 6 without an edge
; TERMINATOR: at stage late {{.*}}: malformed plan: block 1 has an edge to block 3, but does not reach it

;--- ONE.edit
function k late
retarget bb.1 from bb.3 to bb.4
delete-block bb.3
;--- TWICE.edit
function k late
retarget bb.1 from bb.2 to bb.3
delete-block bb.2
;--- LAST.edit
function k late
retarget bb.1 from bb.5 to bb.2
delete-block bb.5
append bb.4: GOTO bb.6
;--- DETOUR.edit
function k late
new-block detour after bb.6
append detour: ST_i32 9 8 0 1 32 %0 0
append detour: GOTO bb.2
edge detour to bb.2
retarget bb.1 from bb.2 to detour
;--- TABLE.edit
function k late
retarget bb.1 from bb.3 to bb.4
delete-block bb.3
;--- SPLIT.edit
function k late
insert before ST_i32#0: ST_i32 9 8 0 1 32 %0 0
split before ST_i32#0 as tail
;--- DELETED.edit
function k late
delete-block bb.3
;--- ITEM.edit
function k late
set BRX_ITEM#1 0 = bb.6
;--- TERMINATOR.edit
function k late
delete BRX_ITEM#1
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  switch i32 %n, label %exit [ i32 0, label %a
                               i32 1, label %b
                               i32 2, label %c
                               i32 3, label %a
                               i32 4, label %e ]
a:
  store volatile i32 1, ptr addrspace(1) %p
  br label %exit
b:
  store volatile i32 2, ptr addrspace(1) %p
  br label %exit
c:
  store volatile i32 3, ptr addrspace(1) %p
  br label %exit
e:
  store volatile i32 5, ptr addrspace(1) %p
  br label %exit
exit:
  ret void
}
