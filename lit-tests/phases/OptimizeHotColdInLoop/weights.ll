; A block that the profile says to be rare leaves the middle of its loop; one that is not stays.

; RUN: %llc-plain -disable-block-placement %s -o - | FileCheck %s --check-prefix=BEFORE
; RUN: %llc -disable-block-placement -oriel-phases=OptimizeHotColdInLoop -oriel-verify -verify-machineinstrs %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx --check-prefix=AFTER
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; BEFORE-LABEL: .entry rare(
; BEFORE: st.volatile.global.b32 [%rd1], 1;
; BEFORE: st.volatile.global.b32 [%rd1], 2;
; BEFORE: st.volatile.global.b32 [%rd1], 3;

; AFTER-LABEL: .entry rare(
; AFTER: ld.volatile.global.b32
; AFTER: @%p{{[0-9]+}} bra [[LATCH:\$L__BB0_[0-9]+]];
; AFTER: bra.uni [[SELDOM:\$L__BB0_[0-9]+]];
; AFTER: [[LATCH]]:
; AFTER: st.volatile.global.b32 [%rd1], 2;
; AFTER: bra $L__BB0_1;
; AFTER: st.volatile.global.b32 [%rd1], 3;
; AFTER: [[SELDOM]]:
; AFTER: st.volatile.global.b32 [%rd1], 1;
; AFTER: bra.uni [[LATCH]];

; AFTER-LABEL: .entry often(
; AFTER: st.volatile.global.b32 [%rd1], 1;
; AFTER: st.volatile.global.b32 [%rd1], 2;
; AFTER: st.volatile.global.b32 [%rd1], 3;

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @rare(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %v = load volatile i32, ptr addrspace(1) %p
  %c = icmp eq i32 %v, 0
  br i1 %c, label %seldom, label %latch, !prof !0
seldom:
  store volatile i32 1, ptr addrspace(1) %p
  br label %latch
latch:
  store volatile i32 2, ptr addrspace(1) %p
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %end, label %loop
end:
  store volatile i32 3, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @often(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %v = load volatile i32, ptr addrspace(1) %p
  %c = icmp eq i32 %v, 0
  br i1 %c, label %half, label %latch
half:
  store volatile i32 1, ptr addrspace(1) %p
  br label %latch
latch:
  store volatile i32 2, ptr addrspace(1) %p
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %end, label %loop
end:
  store volatile i32 3, ptr addrspace(1) %p
  ret void
}

!0 = !{!"branch_weights", i32 1, i32 2000}
