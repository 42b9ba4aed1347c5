; Launch bounds that leave too few registers, or that no number of registers meets, get a warning.

; RUN: %llc -oriel=analyze %s -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=warning:
; RUN: %llc -oriel-warn-launch-bounds=on %s -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=warning:
; RUN: %llc -oriel-warn-launch-bounds=off -oriel=analyze %s -o /dev/null 2>&1 | count 0
; RUN: %llc %s -o /dev/null 2>&1 | count 0

; CHECK: warning: oriel: The launch bounds of kernel impossible cannot be met on sm_80

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @impossible(ptr addrspace(1) %p, i32 %a) "nvvm.maxntid"="1024" "nvvm.minctasm"="3" {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @fits(ptr addrspace(1) %p, i32 %a) "nvvm.maxntid"="256" "nvvm.minctasm"="4" {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
