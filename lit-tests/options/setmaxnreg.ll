; Warps that exchange registers by setmaxnreg take them from those that the kernel has at entry, and wait until there are
; enough. So no option changes the number at entry of a kernel that may do so, itself or in a function that it calls.

; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 -oriel-maxnreg=64 -oriel-min-blocks=always -pass-remarks-missed=oriel %s -o %t.ptx 2> %t.remarks
; RUN: grep '^.visible .entry\|^.maxnreg\|^.minnctapersm' %t.ptx | FileCheck %s
; RUN: grep 'not marked' %t.remarks | sort | FileCheck %s --check-prefix=REMARK

; RUN: sed 's/"nvvm.maxntid"="384"/& "nvvm.minctasm"="1"/' %s > %t.blocks.ll
; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 -oriel-min-blocks=remove -pass-remarks-missed=oriel %t.blocks.ll -o %t.ptx 2> %t.kept
; RUN: grep -c '^.minnctapersm 1' %t.ptx | FileCheck %s --check-prefix=SIX
; RUN: grep -c 'keeps .minnctapersm' %t.kept | FileCheck %s --check-prefix=SIX
; SIX: 6

; CHECK: .entry opcode(
; CHECK-NEXT: .entry assembly(
; CHECK-NEXT: .entry assembly_with_variants(
; CHECK-NEXT: .entry calls(
; CHECK-NEXT: .entry calls_by_address(
; CHECK-NEXT: .entry assembly_that_calls(
; CHECK-NEXT: .entry others(
; CHECK-NEXT: .maxnreg 64
; CHECK-NOT: {{entry|maxnreg|minnctapersm}}
; REMARK-COUNT-6: profile: not marked with .maxnreg: its warps exchange registers (setmaxnreg)
; REMARK-COUNT-6: profile: not marked with .minnctapersm: its warps exchange registers (setmaxnreg)
; REMARK-NOT: not marked

target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 immarg)

@table = internal addrspace(1) constant [1 x ptr] [ptr @device]

define ptx_kernel void @opcode() "nvvm.maxntid"="384" {
  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 40)
  ret void
}

define ptx_kernel void @assembly() "nvvm.maxntid"="384" {
  call void asm sideeffect "setmaxnreg.dec.sync.aligned.u32 40;", ""()
  ret void
}

define ptx_kernel void @assembly_with_variants() "nvvm.maxntid"="384" {
  call void asm sideeffect "setmax$(nreg$|reg$).dec.sync.aligned.u32 40;", ""()
  ret void
}

define ptx_kernel void @calls() "nvvm.maxntid"="384" {
  call void @between()
  ret void
}

define ptx_kernel void @calls_by_address(i64 %number) "nvvm.maxntid"="384" {
  %place = getelementptr ptr, ptr addrspace(1) @table, i64 %number
  %callee = load ptr, ptr addrspace(1) %place
  call void %callee()
  ret void
}

define ptx_kernel void @assembly_that_calls() "nvvm.maxntid"="384" {
  call void asm sideeffect "call device;", ""()
  ret void
}

define ptx_kernel void @others() "nvvm.maxntid"="384" {
  call void @nothing()
  ret void
}

define internal void @between() noinline {
  call void @device()
  ret void
}

define internal void @device() noinline {
  call void asm sideeffect "setmaxnreg.dec.sync.aligned.u32 40;", ""()
  ret void
}

define internal void @nothing() noinline {
  call void asm sideeffect "// nothing", ""()
  ret void
}
