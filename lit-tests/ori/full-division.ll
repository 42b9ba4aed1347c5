; LLVM's two forms of div.full that its own description of the instruction does not have: a register where FDIV32ri has a number,
; and a flag of -1 for flushing subnormals to zero. Ori knows both.
; RUN: rm -rf %t && mkdir %t
; RUN: %llc -oriel=analyze -oriel-snapshot=%t %s -o /dev/null
; RUN: %oriel ori --verify %t/quotients.ssa.oriel | FileCheck %s

; CHECK: [[NUMBER:%[0-9]+]]:R32 = MOV.f32 448.0f32
; CHECK: = FDIV.full.f32 %{{[0-9]+}}, [[NUMBER]]
; CHECK: = FDIV.full.ftz.f32 %{{[0-9]+}}, %{{[0-9]+}}
; CHECK: = FDIV.full.ftz.f32 %{{[0-9]+}}, [[NUMBER]]

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @quotients(ptr addrspace(1) %a, float %x, float %y) {
  %by.constant = call float @llvm.nvvm.div.full(float %x, float 448.0)
  store volatile float %by.constant, ptr addrspace(1) %a
  %flushed = call float @llvm.nvvm.div.full.ftz(float %x, float %y)
  store volatile float %flushed, ptr addrspace(1) %a
  %flushed.by.constant = call float @llvm.nvvm.div.full.ftz(float %x, float 448.0)
  store volatile float %flushed.by.constant, ptr addrspace(1) %a
  ret void
}
