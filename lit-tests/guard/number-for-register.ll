; LLVM puts a number where its own description of an opcode demands a register, as for the size of applypriority. That a
; phase replaces the address beside it is no reason to give up its result.

; RUN: %llc -mattr=+ptx86 -oriel-phases=OriSplitHighPressureLiveRanges -oriel-register-budget=1 %s -o %t.ptx 2>&1 | count 0
; RUN: FileCheck %s < %t.ptx

; CHECK: ld.param.b64 %[[FIRST:rd[0-9]+]], [k_param_1];
; CHECK: st.volatile.global.b32 [%[[FIRST]]], 0;
; CHECK: ld.param.b64 %[[SECOND:rd[0-9]+]], [k_param_1];
; CHECK: applypriority.global.L2::evict_normal [%[[SECOND]]], 128;

target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.applypriority.global.L2.evict.normal(ptr addrspace(1), i64 immarg)

define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n) {
entry:
  %x = load volatile i32, ptr addrspace(1) %p
  store volatile i32 0, ptr addrspace(1) %q
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %v = load volatile i32, ptr addrspace(1) %p
  %w = load volatile i32, ptr addrspace(1) %p
  store volatile i32 %v, ptr addrspace(1) %p
  store volatile i32 %w, ptr addrspace(1) %p
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  call void @llvm.nvvm.applypriority.global.L2.evict.normal(ptr addrspace(1) %q, i64 128)
  store volatile i32 %x, ptr addrspace(1) %p
  ret void
}
