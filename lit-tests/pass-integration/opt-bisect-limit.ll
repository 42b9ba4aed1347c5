; -opt-bisect-limit counts and skips Oriel's passes.

; RUN: %llc -opt-bisect-limit=-1 %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=ALL
; RUN: %lab-llc -opt-bisect-limit=0 -oriel-inject-fault=panic %s -o %t.ptx 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=warning:
; RUN: %llc-plain -opt-bisect-limit=0 %s -o %t.plain 2>/dev/null
; RUN: diff %t.plain %t.ptx

; ALL: BISECT: running pass ({{[0-9]+}}) oriel-ssa on function (k)
; ALL: BISECT: running pass ({{[0-9]+}}) oriel-late on function (k)
; NONE: BISECT: NOT running pass ({{[0-9]+}}) oriel-ssa on function (k)
; NONE: BISECT: NOT running pass ({{[0-9]+}}) oriel-late on function (k)

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
