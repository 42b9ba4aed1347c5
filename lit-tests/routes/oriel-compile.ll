; oriel compile: LLVM in this process, with Oriel in it. The PTX is llc's.

; RUN: %oriel compile --sm 80 -O2 %s -o %t.ptx
; RUN: %llc-plain -O2 %s -o %t.plain
; RUN: diff %t.plain %t.ptx

; From bitcode, and with options.
; RUN: llvm-as %s -o %t.bc
; RUN: %oriel compile --sm 80 %t.bc --oriel '-oriel-phases=none -oriel-report=-' -o %t.ptx | FileCheck %s
; RUN: diff %t.plain %t.ptx
; RUN: env ORIEL_FLAGS=-oriel-inject-fault=panic %oriel compile --sm 80 %s -o %t.ptx 2>&1 | FileCheck %s --check-prefix=PANIC
; RUN: diff %t.plain %t.ptx

; CHECK: "function":"k"{{.*}}"stage":"ssa"{{.*}}"outcome":"identity"
; CHECK: "function":"k"{{.*}}"stage":"late"{{.*}}"outcome":"identity"
; PANIC: function 'k' at stage ssa is left as LLVM made it
; PANIC: function 'k' at stage late is left as LLVM made it

; RUN: not %oriel compile --oriel=-oriel=fast %s -o - 2>&1 | FileCheck %s --check-prefix=WRONG
; WRONG: oriel: -oriel: 'fast' is not allowed; allowed are: off, analyze, optimize
; RUN: not %oriel compile %t.missing -o - 2>&1 | FileCheck %s --check-prefix=MISSING
; MISSING: oriel: {{.*}}No such file or directory
; RUN: echo nonsense > %t.bad.ll
; RUN: not %oriel compile %t.bad.ll -o - 2>&1 | FileCheck %s --check-prefix=BAD
; BAD: oriel: {{.*}}expected top-level entity
; RUN: echo 'target triple = "x86_64-linux-gnu"' > %t.x86.ll
; RUN: not %oriel compile %t.x86.ll -o - 2>&1 | FileCheck %s --check-prefix=TARGET
; TARGET: oriel: {{.*}}its target is x86_64-linux-gnu, not nvptx64

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
