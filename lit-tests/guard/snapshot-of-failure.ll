; A failure can be reported: with -oriel-snapshot the function is written before anything goes wrong.

; RUN: rm -rf %t && mkdir %t
; RUN: %lab-llc %s -oriel-inject-fault=panic -oriel-snapshot=%t -o /dev/null 2>&1 | FileCheck %s --check-prefix=WARNING
; RUN: %oriel snapshot %t/k.ssa.oriel | FileCheck %s --check-prefix=SSA
; RUN: %oriel snapshot %t/k.late.oriel | FileCheck %s --check-prefix=LATE

; WARNING: function 'k' at stage ssa is left as LLVM made it
; SSA: kernel k stage ssa sm_80
; LATE: kernel k stage late sm_80

; That a file cannot be written is an error, and changes nothing in the code.
; RUN: rm -rf %t/k.ssa.oriel && mkdir %t/k.ssa.oriel %t/k.late.dot
; RUN: not %llc %s -oriel-maxnreg=64 -oriel-phases=none -oriel-snapshot=%t -oriel-dot=%t -o %t/k.ptx 2>&1 | FileCheck %s --check-prefix=UNWRITABLE --implicit-check-not="left as LLVM made it"
; RUN: not %llc %s -oriel-maxnreg=64 -oriel-phases=none -oriel-snapshot=%t -oriel-dot=%t -o - 2>%t/problems | FileCheck %s --check-prefix=PTX

; UNWRITABLE: error: oriel: the snapshot cannot be written: {{.*}}k.ssa.oriel: 
; UNWRITABLE: error: oriel: {{.*}}k.late.dot cannot be written: 
; PTX: .maxnreg 64

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
