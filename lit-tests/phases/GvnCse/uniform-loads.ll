; What a warp loads from one address (ldu) may change while the kernel runs, unlike what ld.global.nc loads: LLVM says only that it
; reads.

; RUN: %llc -oriel-phases=GvnCse,LateOriCommoning -oriel-verify %s -o - | FileCheck %s

; CHECK: .entry changed(
; CHECK: ldu.global.b32
; CHECK: st.global.b32
; CHECK: ldu.global.b32
; CHECK: .entry unchanged(
; CHECK: ldu.global.b32
; CHECK-NOT: ldu.global.b32
; CHECK: .entry constant(
; CHECK: ld.global.nc.b32
; CHECK-NOT: ld.global.nc.b32

target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.ldu.global.i.i32.p1(ptr addrspace(1), i32)

define ptx_kernel void @changed(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  %a = call i32 @llvm.nvvm.ldu.global.i.i32.p1(ptr addrspace(1) %p, i32 4)
  %next = add i32 %a, 1
  store i32 %next, ptr addrspace(1) %p
  fence seq_cst
  %b = call i32 @llvm.nvvm.ldu.global.i.i32.p1(ptr addrspace(1) %p, i32 4)
  store i32 %b, ptr addrspace(1) %q
  ret void
}

define ptx_kernel void @unchanged(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  %a = call i32 @llvm.nvvm.ldu.global.i.i32.p1(ptr addrspace(1) %p, i32 4)
  %b = call i32 @llvm.nvvm.ldu.global.i.i32.p1(ptr addrspace(1) %p, i32 4)
  %sum = add i32 %a, %b
  store i32 %sum, ptr addrspace(1) %q
  ret void
}

define ptx_kernel void @constant(ptr addrspace(1) noalias readonly %p, ptr addrspace(1) noalias %q) {
  %a = load i32, ptr addrspace(1) %p, !invariant.load !0
  store i32 %a, ptr addrspace(1) %q
  fence seq_cst
  %b = load i32, ptr addrspace(1) %p, !invariant.load !0
  %at = getelementptr i32, ptr addrspace(1) %q, i32 1
  store i32 %b, ptr addrspace(1) %at
  ret void
}

!0 = !{}
