; In an LLVM of another version the plug-in does nothing but say so.

; RUN: %llc-plain %s -o %t.plain
; RUN: env ORIEL_FLAGS=-oriel-inject-fault=other-llvm %llc-plain -load=%plugin %s -o %t.ptx 2>&1 | FileCheck %s
; RUN: diff %t.plain %t.ptx
; RUN: env "ORIEL_FLAGS=-oriel-inject-fault=other-llvm" %llc-plain --load-pass-plugin=%plugin %s -o %t.ptx 2>&1 | FileCheck %s
; RUN: diff %t.plain %t.ptx

; CHECK: oriel: built for LLVM [[VERSION:22[0-9.]+]], but the host runs LLVM 22.{{[0-9.]+}}; the plug-in stays inactive
; CHECK-NOT: oriel:

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
