; What ptxas says, beside the estimate.

; REQUIRES: ptxas
; RUN: env LLVM_PTXAS_EXECUTABLE=%ptxas-path %oriel report --sm 80,90 --ptxas --json %s | FileCheck %s
; RUN: env LLVM_PTXAS_EXECUTABLE=%ptxas-path %oriel report --sm 90 --ptxas %s | FileCheck %s --check-prefix=TABLE
; RUN: env LLVM_PTXAS_EXECUTABLE=%t.missing not %oriel report --sm 90 --ptxas %s 2>&1 | FileCheck %s --check-prefix=MISSING

; CHECK: "function":"k",{{.*}}"sm":80,{{.*}}"occupancy_warps_per_sm":64,{{.*}}"ptxas_registers":{{[0-9]+}},"ptxas_stack_bytes":0,"ptxas_spill_store_bytes":0,"ptxas_spill_load_bytes":0
; CHECK: "function":"k",{{.*}}"sm":90,{{.*}}"ptxas_registers":
; TABLE: {{ptxas +spilled bytes +warps +limited by}}
; MISSING: oriel: {{.*}}missing: {{.*}}; set LLVM_PTXAS_EXECUTABLE

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
