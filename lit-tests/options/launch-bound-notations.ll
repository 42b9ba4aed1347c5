; Launch bounds are read as LLVM reads them: in hexadecimal and octal notation, too.

; RUN: %llc -oriel-maxnreg=128 %s -o - | FileCheck %s --implicit-check-not=".maxnreg 128"
; CHECK: .maxntid 1024
; RUN: %oriel report --sm 80 --json %s | FileCheck %s --check-prefix=REPORT
; REPORT: "function":"k"{{.*}}"occupancy_threads_per_block":1024
; REPORT: "function":"octal"{{.*}}"occupancy_threads_per_block":52

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p) "nvvm.maxntid"="0x400" {
  store i32 1, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @octal(ptr addrspace(1) %p) "nvvm.maxntid"="064" "nvvm.maxnreg"="32" {
  store i32 1, ptr addrspace(1) %p
  ret void
}
