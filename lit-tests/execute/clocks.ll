; A kernel whose result depends on how long its instructions take has no result to compare: phases may remove some.

; RUN: %oriel differential %s --without-machine-code | FileCheck %s
; CHECK: 1 kernels, 2 tested modules, {{.*}} 0 comparisons in the interpreter, {{.*}} 6 inputs without a result, 0 problems

target triple = "nvptx64-nvidia-cuda"

declare i64 @llvm.nvvm.read.ptx.sreg.clock64()

define ptx_kernel void @k(ptr addrspace(1) %out, i32 %n) {
  %begin = call i64 @llvm.nvvm.read.ptx.sreg.clock64()
  store volatile i32 %n, ptr addrspace(1) %out
  %unneeded = call i32 asm "mov.u32 $0, 5;", "=r"()
  %end = call i64 @llvm.nvvm.read.ptx.sreg.clock64()
  %time = sub i64 %end, %begin
  store i64 %time, ptr addrspace(1) %out
  ret void
}
