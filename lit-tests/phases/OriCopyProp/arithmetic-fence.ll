; RUN: %llc -oriel-profile=ptxas -oriel-least-pressure=0 -oriel-verify -verify-machineinstrs %s -o - 2>&1 | FileCheck %s --implicit-check-not=warning
;
; The fence's source and result are one register, though it is no inline assembly.
; CHECK: ret;
target triple = "nvptx64-nvidia-cuda"
declare float @llvm.arithmetic.fence.f32(float)
define ptx_kernel void @k(ptr addrspace(1) %out, float %f, float %e, i32 %n) {
entry:
  %g = fadd float %f, %e
  %h = call float @llvm.arithmetic.fence.f32(float %g)
  %d = fsub float %h, %f
  store volatile float %g, ptr addrspace(1) %out
  store volatile float %d, ptr addrspace(1) %out
  store volatile float %h, ptr addrspace(1) %out
  br label %l
l:
  %i = phi i32 [0, %entry], [%j, %l]
  %x = phi float [%h, %entry], [%y, %l]
  %x2 = fmul float %x, %x
  %y = call float @llvm.arithmetic.fence.f32(float %x2)
  store volatile float %x, ptr addrspace(1) %out
  %j = add i32 %i, 1
  %c = icmp slt i32 %j, %n
  br i1 %c, label %l, label %ex
ex:
  %z = call float @llvm.arithmetic.fence.f32(float %x)
  %z2 = fadd float %z, %x
  %z3 = fmul float %z2, %y
  store float %z3, ptr addrspace(1) %out
  ret void
}
