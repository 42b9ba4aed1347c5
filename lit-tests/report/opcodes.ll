; Which share of a module's instructions has full meaning, and the names of the others.

; RUN: %oriel report --opcodes --sm 80 %s | FileCheck %s
; RUN: %oriel report --opcodes --json --sm 80 %s | FileCheck %s --check-prefix=JSON
; RUN: %llc -stop-after=nvptx-proxyreg-erasure %s -o %t.mir
; RUN: %oriel report --opcodes %t.mir | FileCheck %s --check-prefix=MIR
; CHECK: stage late: 1 functions, 0 refused; {{[0-9]+}} instructions, {{[0-9]+}} with full meaning ({{[0-9.]+}}%)
; CHECK-NEXT: 1  INLINEASM
; CHECK-NEXT: stage ssa: 1 functions, 0 refused;
; CHECK-NEXT: 1  INLINEASM
; MIR-NOT: stage late
; MIR: stage ssa: 1 functions, 0 refused; {{[0-9]+}} instructions,
; MIR-NEXT: 1  INLINEASM
; JSON: "late": {
; JSON: "INLINEASM": 1

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  %sum = add i32 %a, 7
  %bits = call i32 asm "popc.b32 $0, $1;", "=r,r"(i32 %sum)
  store i32 %bits, ptr addrspace(1) %p
  ret void
}
