; LLVM's intervals give a result that is written early a register beside those of the sources; Ori's do not. The guard compares what
; Ori counts before the phases with what it counts after them: -oriel-verify finds a difference.

; RUN: %llc -oriel-verify -oriel-profile=max -oriel-least-pressure=0 -oriel-register-budget=2 %s -o - 2>&1 \
; RUN:   | FileCheck %s --implicit-check-not=warning:

; CHECK: .entry early(
; CHECK: mov.b32 {{%r[0-9]+}}, {{%r[0-9]+}}; add.s32

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @early(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %v = call i32 asm sideeffect "mov.b32 $0, $1; add.s32 $0, $0, $2; add.s32 $0, $0, $3;", "=&r,r,r,r"(i32 %a, i32 %b, i32 7)
  store i32 %v, ptr addrspace(1) %p
  ret void
}
