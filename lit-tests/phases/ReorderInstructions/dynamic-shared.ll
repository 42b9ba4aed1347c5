; RUN: %llc -oriel-enable-phases=ReorderInstructions -oriel-validate=enforce %s -o - | FileCheck %s
;
; All arrays of dynamic shared memory are at one address.
; CHECK-LABEL: k(
; CHECK: st.shared.b32 [s1],
; CHECK: ld.shared.b32 {{.*}}, [s2];
target triple = "nvptx64-nvidia-cuda"
; CUDA: extern __shared__ float s1[]; extern __shared__ int s2[]; -- both are the same memory
@s1 = external addrspace(3) global [0 x float], align 4
@s2 = external addrspace(3) global [0 x i32], align 4
define ptx_kernel void @k(ptr addrspace(1) %out, float %f, i32 %n, i32 %m) {
entry:
  store float %f, ptr addrspace(3) @s1
  %l = load i32, ptr addrspace(3) @s2
  %a = mul i32 %n, %m
  %z = add i32 %l, %a
  store i32 %z, ptr addrspace(1) %out
  ret void
}
