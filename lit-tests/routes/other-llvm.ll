; The plug-in in an LLVM of another version: it stays out of everything and says so once. The version is that of a
; library which is loaded before LLVM's.

; RUN: split-file %s %t
; RUN: %clang -shared -fPIC %t/version.c -o %t/version.so
; RUN: %llc-plain %t/k.ll -o %t/plain.ptx
; RUN: env LD_PRELOAD=%t/version.so %llc-plain -load=%plugin %t/k.ll -o %t/k.ptx 2>&1 | FileCheck %s
; RUN: diff %t/plain.ptx %t/k.ptx
; RUN: env LD_PRELOAD=%t/version.so %llc-plain --load-pass-plugin=%plugin %t/k.ll -o %t/k.ptx 2>&1 | FileCheck %s
; RUN: diff %t/plain.ptx %t/k.ptx

; CHECK: oriel: built for LLVM {{22[0-9.]+}}, but the host runs LLVM 22.9.1; the plug-in stays inactive
; CHECK-NOT: oriel:

;--- version.c
void LLVMGetVersion(unsigned *Major, unsigned *Minor, unsigned *Patch) {
  *Major = 22;
  *Minor = 9;
  *Patch = 1;
}
;--- k.ll
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
