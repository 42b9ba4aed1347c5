; oriel tune --save: each kernel is compiled and judged without the others, and gets options of its own.
; RUN: rm -f %t.calls %t.tuned
; RUN: env CALLS=%t.calls LLVM_PTXAS_EXECUTABLE=%S/Inputs/entries.sh %oriel tune --sm 80 --no-cache --save %t.tuned %s -o %t.ptx | FileCheck %s
; CHECK:      apart{{ +}}20{{ +}}0
; CHECK-NEXT: shared{{ +}}20 -> 18{{ +}}0
; CHECK-NEXT: together{{ +}}20 -> 18{{ +}}0
; CHECK-NEXT: flags: -oriel-tuned=
; CHECK-NEXT: shared alone: 18 registers with flags: -oriel-knob=InstructionOrder={{[0-9]+}} -oriel-enable-phases=ReorderInstructions
; CHECK-NEXT: together alone: 18 registers with flags: -oriel-knob=InstructionOrder={{[0-9]+}} -oriel-enable-phases=ReorderInstructions

; All of them before and after the search; between, one at a time.
; RUN: FileCheck %s --check-prefix=CALLS --input-file=%t.calls --match-full-lines
;      CALLS: apart together shared
; CALLS-NEXT: apart
;  CALLS-NOT:{{.+ .+}}
;      CALLS: shared
;  CALLS-NOT:{{.+ .+}}
;      CALLS: together
;  CALLS-NOT:{{.+ .+}}
;      CALLS: apart together shared
;  CALLS-NOT:{{.}}

; What kernels share stays in the code.
; RUN: %oriel compile --sm 80 --oriel "-oriel-tuned=%t.tuned" %s -o - | diff - %t.ptx
; RUN: FileCheck %s --check-prefix=PTX --input-file=%t.ptx
; PTX-COUNT-3: .entry

; A kernel that cannot be judged alone is judged with the others.
; RUN: rm -f %t.calls
; RUN: env REFUSE=together CALLS=%t.calls LLVM_PTXAS_EXECUTABLE=%S/Inputs/entries.sh %oriel tune --sm 80 --no-cache --save %t.refused %s | FileCheck %s --check-prefix=REFUSED
; REFUSED: together{{ +}}20 -> 18{{ +}}0
; RUN: FileCheck %s --check-prefix=REFUSED-CALLS --input-file=%t.calls --match-full-lines
;      REFUSED-CALLS: together
; REFUSED-CALLS-NEXT: apart together shared

; Without time every kernel keeps the options given.
; RUN: env LLVM_PTXAS_EXECUTABLE=%S/Inputs/entries.sh %oriel tune --sm 80 --no-cache --time 0 --save %t.none %s | FileCheck %s --check-prefix=TIME
; TIME: 3 variants, 1 different
; TIME: no time was left for

target triple = "nvptx64-nvidia-cuda"

@table = internal addrspace(1) global [4 x i32] [i32 1, i32 2, i32 3, i32 4]

define ptx_kernel void @apart(ptr addrspace(1) %p) {
  %x = load i32, ptr addrspace(1) %p
  store i32 %x, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @together(ptr addrspace(1) %p) {
  %q = getelementptr i32, ptr addrspace(1) %p, i32 1
  %x = load i32, ptr addrspace(1) %p
  %y = load i32, ptr addrspace(1) %q
  %s = add i32 %x, 7
  %z = mul i32 %s, %y
  store i32 %z, ptr addrspace(1) %p
  ret void
}

define internal i32 @look_up(i32 %i) noinline {
  %place = getelementptr [4 x i32], ptr addrspace(1) @table, i32 0, i32 %i
  %x = load i32, ptr addrspace(1) %place
  ret i32 %x
}

define ptx_kernel void @shared(ptr addrspace(1) %p) {
  %q = getelementptr i32, ptr addrspace(1) %p, i32 1
  %x = load i32, ptr addrspace(1) %p
  %y = load i32, ptr addrspace(1) %q
  %s = add i32 %x, 7
  %z = mul i32 %s, %y
  %w = call i32 @look_up(i32 %z)
  store i32 %w, ptr addrspace(1) %p
  ret void
}
