; llc -load: the options are options of llc.

; RUN: %llc-bare -load=%plugin -mcpu=sm_80 -oriel=analyze -oriel-report=- %s -o /dev/null | FileCheck %s
; CHECK: "function":"k"{{.*}}"sm":80{{.*}}"stage":"ssa"
; CHECK: "function":"k"{{.*}}"sm":80{{.*}}"stage":"late"

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
