; The phase puts back what phase 109 moved, and the PTX is that of llc alone.

; RUN: %llc-plain -disable-block-placement %s -o %t.plain
; RUN: %llc -disable-block-placement -oriel-phases=OptimizeHotColdFlow -oriel-verify %s -o %t.cold
; RUN: not cmp -s %t.plain %t.cold
; RUN: %llc -disable-block-placement -oriel-phases=OptimizeHotColdFlow,PlaceBlocksInSourceOrder -oriel-verify -verify-machineinstrs %s -o %t.ptx
; RUN: cmp %t.plain %t.ptx
; RUN: %llc -disable-block-placement -oriel-phases=OptimizeHotColdFlow,PlaceBlocksInSourceOrder -oriel-disable-phases=PlaceBlocksInSourceOrder %s -o %t.ptx
; RUN: cmp %t.cold %t.ptx

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
