; Blocks can be put elsewhere in the layout, as long as what falls through still does.

; RUN: split-file %s %t
; RUN: %edited-mir SSA oriel-ssa
; RUN: %edited-mir LATE oriel-late
; RUN: %edit -disable-block-placement -oriel-edit=%t/LATE.edit %t/kernel.ll -o - | FileCheck %s --check-prefix=PTX
; RUN: %refused ENTRY
; RUN: %refused FALL-THROUGH
; RUN: %refused BEFORE-ENTRY

; SSA: bb.0.entry:
; SSA: bb.1.head:
; SSA: bb.4.latch:
; SSA: bb.2.then:
; SSA: bb.3.else:
; SSA: bb.5.exit:

; LATE: bb.0.entry:
; LATE: bb.5.exit:
; LATE: bb.1.head:
; LATE: bb.3.else:
; LATE: bb.4.latch:
; LATE: bb.2.then:

; LLVM's branch folding puts the exit behind the latch again.
; PTX: // %entry
; PTX: // %head
; PTX: // %else
; PTX: // %latch
; PTX: // %exit
; PTX: ret;
; PTX: // %then

; ENTRY: at stage ssa {{.*}}: edit script: line 2: the entry block must stay first
; FALL-THROUGH: at stage late {{.*}}: malformed plan: block 3 has an edge to block 4, but does not reach it
; BEFORE-ENTRY: at stage late {{.*}}: edit script: line 2: there is no block bb.9

;--- SSA.edit
function k ssa
append bb.3: GOTO bb.4
place bb.4 after bb.1
;--- LATE.edit
function k late
append bb.0: GOTO bb.1
place bb.5 after bb.0
place bb.2 after bb.4
;--- ENTRY.edit
function k ssa
place bb.0 after bb.1
;--- FALL-THROUGH.edit
function k late
place bb.5 after bb.3
;--- BEFORE-ENTRY.edit
function k late
place bb.9 after bb.3
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
