; Kernels whose registers ptxas spills to shared memory, and what forbids it.

; RUN: %llc -mattr=+ptx87 %s -o - | FileCheck %s --check-prefix=NONE
; RUN: %llc -mattr=+ptx87 -oriel=analyze -oriel-spill-to-shared=on %s -o - | FileCheck %s --check-prefix=NONE
; RUN: %llc -mattr=+ptx86 -oriel-spill-to-shared=on %s -o - | FileCheck %s --check-prefix=NONE
; NONE-NOT: enable_smem_spilling

; RUN: %llc -mattr=+ptx87 -oriel-spill-to-shared=on -pass-remarks-missed=oriel %s -o %t.ptx 2> %t.remarks
; RUN: FileCheck %s --input-file=%t.ptx
; RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
; RUN: %llc -mattr=+ptx87 -oriel-spill-to-shared=on -oriel-phases=none %s -o - | FileCheck %s
; RUN: %llc -mattr=+ptx87 -oriel-spill-to-shared=on -oriel-profile=ptxas -oriel-verify %s -o - | FileCheck %s
; A GPU whose first version of PTX knows the mark needs no other.
; RUN: %llc -mcpu=sm_120 -oriel-spill-to-shared=on %s -o - | FileCheck %s

; CHECK: .entry k(
; CHECK: .maxntid 256
; CHECK: begin inline asm
; CHECK-NEXT: .pragma "enable_smem_spilling";
; CHECK-NEXT: end inline asm
; CHECK: ld.param
; CHECK: .entry required(
; CHECK: .pragma "enable_smem_spilling";
; CHECK-NOT: .pragma "enable_smem_spilling";
; REMARK-DAG: the kernel has no block size
; REMARK-DAG: not spilled to shared memory: it uses dynamic shared memory
; REMARK-DAG: not spilled to shared memory: it has an argument in shared memory
; REMARK-DAG: not spilled to shared memory: it calls functions
; REMARK-DAG: not spilled to shared memory: it reads the size of shared memory
; REMARK-DAG: not spilled to shared memory: its inline assembly may call functions
; REMARK-DAG: not spilled to shared memory: its inline assembly names dynamic shared memory
; REMARK-DAG: not spilled to shared memory: its inline assembly reads the size of shared memory
; REMARK-DAG: not spilled to shared memory: its inline assembly has variants

; RUN: %llc -mattr=+ptx86 -oriel-spill-to-shared=on -pass-remarks-missed=oriel %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=OLD
; OLD: not spilled to shared memory: PTX 8.7 or newer is needed (ptx87)

; An address of dynamic shared memory that is loaded from a variable.
; RUN: echo '@pointer = addrspace(1) global ptr addrspacecast (ptr addrspace(3) @dynamic to ptr)' > %t.pointer.ll
; RUN: cat %s %t.pointer.ll > %t.indirect.ll
; RUN: %llc -mattr=+ptx87 -oriel-spill-to-shared=on %t.indirect.ll -o - | FileCheck %s --check-prefix=NONE

; Dynamic shared memory that the module's assembly declares.
; RUN: echo 'module asm ".extern .shared .align 16 .b8 more[];"' > %t.assembly.ll
; RUN: cat %s %t.assembly.ll > %t.declared.ll
; RUN: %llc -mattr=+ptx87 -oriel-spill-to-shared=on -pass-remarks-missed=oriel %t.declared.ll -o - 2> %t.declared | FileCheck %s --check-prefix=NONE
; RUN: FileCheck %s --check-prefix=DECLARED --input-file=%t.declared
; DECLARED: not spilled to shared memory: the assembly of its module declares shared memory

target triple = "nvptx64-nvidia-cuda"

@dynamic = external addrspace(3) global [0 x i32]
@defined_dynamic = internal addrspace(3) global [0 x i32] poison

define ptx_kernel void @k(ptr addrspace(1) %p) "nvvm.maxntid"="256" {
  %v = load volatile i32, ptr addrspace(1) %p
  store volatile i32 %v, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @required(ptr addrspace(1) %p) "nvvm.reqntid"="32,2" {
  store volatile i32 1, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @any_block(ptr addrspace(1) %p) {
  store volatile i32 1, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @dynamic_shared(i32 %i) "nvvm.maxntid"="256" {
  %at = getelementptr i32, ptr addrspace(3) @dynamic, i32 %i
  store volatile i32 1, ptr addrspace(3) %at
  ret void
}

; An array without elements is dynamic, too, if it is defined.
define ptx_kernel void @defined_dynamic_shared(i32 %i) "nvvm.maxntid"="256" {
  %at = getelementptr i32, ptr addrspace(3) @defined_dynamic, i32 %i
  store volatile i32 1, ptr addrspace(3) %at
  ret void
}

define ptx_kernel void @defined_name() "nvvm.maxntid"="256" {
  call void asm sideeffect "st.shared.u32 [defined_dynamic], 1;", ""()
  ret void
}

define ptx_kernel void @argument(ptr addrspace(3) %p) "nvvm.maxntid"="256" {
  store volatile i32 1, ptr addrspace(3) %p
  ret void
}

declare void @other()

define ptx_kernel void @calls() "nvvm.maxntid"="256" {
  call void @other()
  ret void
}

define ptx_kernel void @size(ptr addrspace(1) %p) "nvvm.maxntid"="256" {
  %s = call i32 @llvm.nvvm.read.ptx.sreg.dynamic_smem_size()
  store volatile i32 %s, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @assembly_call() "nvvm.maxntid"="256" {
  call void asm sideeffect "call other;", ""()
  ret void
}

define ptx_kernel void @assembly_name() "nvvm.maxntid"="256" {
  call void asm sideeffect "st.shared.u32 [dynamic], 1;", ""()
  ret void
}

define ptx_kernel void @assembly_size() "nvvm.maxntid"="256" {
  call void asm sideeffect "{ .reg .b32 t; mov.u32 t, %total_smem_size; }", ""()
  ret void
}

define ptx_kernel void @assembly_variants() "nvvm.maxntid"="256" {
  call void asm sideeffect "{ .reg .b32 t; mov.u32 t, %total_$(smem_size$|other$); }", ""()
  ret void
}

define void @device(ptr addrspace(1) %p) {
  store volatile i32 1, ptr addrspace(1) %p
  ret void
}
