; LLVM puts the divisor of FDIV32ri into a register, where its own description of the opcode has a number. The constant can be
; loaded again all the same. (LLVM's machine verifier refuses this function as LLVM makes it.)

; RUN: %llc -oriel-phases=OriSplitLiveRanges -oriel-register-budget=6 -oriel-verify %s -o %t.ptx 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty
; RUN: FileCheck %s --input-file=%t.ptx
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; SILENT-NOT: warning

; CHECK: mov.b32 [[FIRST:%r[0-9]+]], 0f43E00000;
; CHECK: div.full.f32 {{.*}}, [[FIRST]];
; CHECK: mov.b32 [[SECOND:%r[0-9]+]], 0f43E00000;
; CHECK: div.full.f32 {{.*}}, [[SECOND]];

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %a, i1 %c, float %x) {
entry:
  %d0 = call float @llvm.nvvm.div.full(float %x, float 448.0)
  store volatile float %d0, ptr addrspace(1) %a
  %l0 = load volatile i64, ptr addrspace(1) %a
  %l1 = load volatile i64, ptr addrspace(1) %a
  %l2 = load volatile i64, ptr addrspace(1) %a
  %l3 = load volatile i64, ptr addrspace(1) %a
  %l4 = load volatile i64, ptr addrspace(1) %a
  %l5 = load volatile i64, ptr addrspace(1) %a
  %l6 = load volatile i64, ptr addrspace(1) %a
  %l7 = load volatile i64, ptr addrspace(1) %a
  br i1 %c, label %then, label %exit
then:
  store volatile i64 %l0, ptr addrspace(1) %a
  store volatile i64 %l1, ptr addrspace(1) %a
  store volatile i64 %l2, ptr addrspace(1) %a
  store volatile i64 %l3, ptr addrspace(1) %a
  store volatile i64 %l4, ptr addrspace(1) %a
  store volatile i64 %l5, ptr addrspace(1) %a
  store volatile i64 %l6, ptr addrspace(1) %a
  store volatile i64 %l7, ptr addrspace(1) %a
  br label %exit
exit:
  %y = load volatile float, ptr addrspace(1) %a
  %d1 = call float @llvm.nvvm.div.full(float %y, float 448.0)
  store volatile float %d1, ptr addrspace(1) %a
  ret void
}

declare float @llvm.nvvm.div.full(float, float)
