; Nothing behind the end of a thread may come before it, not even a load of memory that nobody writes: the address may be wrong.

; RUN: %llc -mcpu=sm_90 -oriel-phases=ReorderInstructions -oriel-knob=InstructionOrder=6 %s -o - | FileCheck %s
; RUN: %llc -mcpu=sm_90 -oriel-phases=ReorderInstructions -oriel-knob=InstructionOrder=5 %s -o - | FileCheck %s
; RUN: %llc -mcpu=sm_90 -oriel-profile=ptxas -oriel-least-pressure=0 -oriel-verify %s -o - | FileCheck %s

; CHECK: st.global.b32 [[OWN:.*]], 1;
; CHECK-NEXT: exit;
; CHECK: ld.global.nc
; CHECK: st.global.b32 [[OWN]], %r

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.exit()

define ptx_kernel void @k(ptr addrspace(1) %out, ptr addrspace(1) noalias readonly %in, i32 %n) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = getelementptr i32, ptr addrspace(1) %out, i32 %thread
  store i32 1, ptr addrspace(1) %own
  call void @llvm.nvvm.exit()
  %address = getelementptr i32, ptr addrspace(1) %in, i32 %n
  %value = load i32, ptr addrspace(1) %address, !invariant.load !0
  store i32 %value, ptr addrspace(1) %own
  ret void
}

!0 = !{}
