; A block that traps goes behind what runs; a function whose every way ends in a trap stays.

; RUN: %llc-plain -disable-block-placement %s -o - | FileCheck %s --check-prefix=BEFORE
; RUN: %llc -disable-block-placement -oriel-phases=OptimizeHotColdFlow -oriel-verify -verify-machineinstrs -oriel-report=%t.json %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx --check-prefix=AFTER
; RUN: FileCheck %s --input-file=%t.json --check-prefix=REPORT
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; BEFORE-LABEL: .entry k(
; BEFORE: st.volatile.global.b32 [%rd1], 1;
; BEFORE: trap;
; BEFORE: st.volatile.global.b32 [%rd1], 2;
; BEFORE: ret;

; AFTER-LABEL: .entry k(
; AFTER: st.volatile.global.b32 [%rd1], 2;
; AFTER: ret;
; AFTER: st.volatile.global.b32 [%rd1], 1;
; AFTER: trap;

; AFTER-LABEL: .entry traps(
; AFTER: st.volatile.global.b32 [%rd1], 3;
; AFTER: st.volatile.global.b32 [%rd1], 4;

; REPORT: "function":"k"{{.*}}"stage":"late"{{.*}}"outcome":"changed","phases":{"OptimizeHotColdFlow":{"cold-blocks":1}}
; REPORT: "function":"traps"{{.*}}"stage":"late"{{.*}}"outcome":"identity","phases":{"OptimizeHotColdFlow":{}}

target triple = "nvptx64-nvidia-cuda"
declare void @llvm.trap()

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  %c = icmp eq i32 %n, 0
  br i1 %c, label %good, label %bad
bad:
  store volatile i32 1, ptr addrspace(1) %p
  call void @llvm.trap()
  unreachable
good:
  store volatile i32 2, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @traps(ptr addrspace(1) %p, i32 %n) {
entry:
  %c = icmp eq i32 %n, 0
  br i1 %c, label %second, label %first
first:
  store volatile i32 3, ptr addrspace(1) %p
  call void @llvm.trap()
  unreachable
second:
  store volatile i32 4, ptr addrspace(1) %p
  call void @llvm.trap()
  unreachable
}
