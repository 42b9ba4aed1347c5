; A failure can be reported: with -oriel-snapshot the function is written before anything goes wrong.

; RUN: rm -rf %t && mkdir %t
; RUN: %lab-llc %s -oriel-inject-fault=panic -oriel-snapshot=%t -o /dev/null 2>&1 | FileCheck %s --check-prefix=WARNING
; RUN: %oriel snapshot %t/k.ssa.oriel | FileCheck %s --check-prefix=SSA
; RUN: %oriel snapshot %t/k.late.oriel | FileCheck %s --check-prefix=LATE

; WARNING: function 'k' at stage ssa is left as LLVM made it
; SSA: kernel k stage ssa sm_80
; LATE: kernel k stage late sm_80

; A snapshot that cannot be written is a diagnostic, too.
; RUN: rm -rf %t/k.ssa.oriel && mkdir %t/k.ssa.oriel
; RUN: %llc-plain %s -o %t/plain.ptx
; RUN: %llc %s -oriel-snapshot=%t -o %t/k.ptx 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
; RUN: diff %t/plain.ptx %t/k.ptx

; UNWRITABLE: warning: oriel: function 'k' at stage ssa is left as LLVM made it: the snapshot cannot be written:

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
