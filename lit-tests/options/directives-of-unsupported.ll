; Directives do not depend on whether Ori can represent the code.

; RUN: %llc -oriel-least-pressure=0 -oriel-maxnreg=32 -pass-remarks-missed=oriel %s -o %t.ptx 2>&1 | FileCheck %s --check-prefix=REMARK
; RUN: FileCheck %s --input-file=%t.ptx
; RUN: %llc -oriel-least-pressure=0 -oriel-min-blocks=remove %s -o - | FileCheck %s --check-prefix=REMOVED

; REMARK: function left as LLVM made it at stage ssa
; CHECK: .entry jumps(
; CHECK: {{^}}.maxnreg 32
; CHECK: .entry bounded(
; CHECK: {{^}}.minnctapersm 2
; REMOVED-NOT: .minnctapersm

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @jumps(ptr addrspace(1) %p) {
  callbr void asm sideeffect "// $0", "!i"() to label %one [label %other]
one:
  store i32 1, ptr addrspace(1) %p
  ret void
other:
  store i32 2, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @bounded(ptr addrspace(1) %p) "nvvm.maxntid"="128" "nvvm.minctasm"="2" {
  callbr void asm sideeffect "// $0", "!i"() to label %one [label %other]
one:
  store i32 1, ptr addrspace(1) %p
  ret void
other:
  store i32 2, ptr addrspace(1) %p
  ret void
}
