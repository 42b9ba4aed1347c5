; Some code needs a version of PTX newer than LLVM's default for the GPU.

; RUN: not %oriel report --sm 90 %s 2>&1 | FileCheck %s --check-prefix=OLD
; RUN: not %oriel exec --sm 90 --blind 1 %s 2>&1 | FileCheck %s --check-prefix=OLD
; OLD: blocksareclusters requires PTX version >= 9.0

; RUN: %oriel report --sm 90 --ptx 90 %s | FileCheck %s --check-prefix=REPORT
; REPORT: k {{.*}}kernel {{.*}}90
; RUN: %oriel exec --sm 90 --ptx 90 --blind 1 %s | FileCheck %s --check-prefix=EXECUTED
; EXECUTED: late k: hash
; RUN: %oriel differential --sm 90 --ptx 90 %s | FileCheck %s --check-prefix=COMPARED
; COMPARED: 1 kernels, {{.*}} 0 problems

; It says how LLVM IR is compiled, so it goes with nothing else.
; RUN: %oriel generate --language mir-ssa --seed 1 -o %t.mir
; RUN: not %oriel report --ptx 90 %t.mir 2>&1 | FileCheck %s --check-prefix=WRONG
; RUN: echo 'kernel "k" sm_80 ssa {' > %t.ori
; RUN: not %oriel exec --ptx 90 --blind 1 %t.ori 2>&1 | FileCheck %s --check-prefix=WRONG
; WRONG: --ptx takes LLVM IR

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %out) "nvvm.reqntid"="32" "nvvm.cluster_dim"="2" "nvvm.blocksareclusters" {
  store i32 1, ptr addrspace(1) %out
  ret void
}
