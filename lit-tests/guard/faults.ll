; Whatever goes wrong leaves every function as LLVM made it, with one diagnostic for each function and stage.

; RUN: %llc-plain %s -o %t.plain
; RUN: %lab-llc %s -oriel-inject-fault=panic -verify-machineinstrs -o %t.panic 2>%t.err
; RUN: diff %t.plain %t.panic
; RUN: FileCheck %s --check-prefixes=PANIC --implicit-check-not=warning: --implicit-check-not=error: --input-file=%t.err

; RUN: %lab-llc %s -oriel-inject-fault=malformed-plan -verify-machineinstrs -o %t.malformed 2>%t.err
; RUN: diff %t.plain %t.malformed
; RUN: FileCheck %s --check-prefixes=MALFORMED --implicit-check-not=warning: --implicit-check-not=error: --input-file=%t.err

; RUN: %lab-llc %s -oriel-inject-fault=failed-verification -verify-machineinstrs -o %t.failed 2>%t.err
; RUN: diff %t.plain %t.failed
; RUN: FileCheck %s --check-prefixes=FAILED --implicit-check-not=warning: --implicit-check-not=error: --input-file=%t.err

; The same with debug information, and through the environment.
; RUN: env ORIEL_FLAGS=-oriel-inject-fault=panic %lab-llc %s -verify-machineinstrs -o %t.panic 2>%t.err
; RUN: diff %t.plain %t.panic
; RUN: FileCheck %s --check-prefixes=PANIC --implicit-check-not=warning: --input-file=%t.err

; PANIC: warning: oriel: function 'k' at stage ssa is left as LLVM made it: {{.*}}panic on request
; PANIC: warning: oriel: function 'k' at stage late is left as LLVM made it: {{.*}}panic on request
; PANIC: warning: oriel: function 'loop' at stage ssa is left as LLVM made it: {{.*}}panic on request
; PANIC: warning: oriel: function 'loop' at stage late is left as LLVM made it: {{.*}}panic on request

; MALFORMED: warning: oriel: function 'k' at stage ssa is left as LLVM made it: malformed plan: instruction 0 has unknown source
; MALFORMED: warning: oriel: function 'k' at stage late is left as LLVM made it: malformed plan: instruction 0 has unknown source
; MALFORMED: warning: oriel: function 'loop' at stage ssa
; MALFORMED: warning: oriel: function 'loop' at stage late

; FAILED: warning: oriel: function 'k' at stage ssa is left as LLVM made it: LLVM's verifier refuses the result: Bad machine code: Undef virtual register def
; FAILED: warning: oriel: function 'k' at stage late is left as LLVM made it: LLVM's verifier refuses the result: Bad machine code: Undef virtual register def
; FAILED: warning: oriel: function 'loop' at stage ssa
; FAILED: warning: oriel: function 'loop' at stage late

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %sum = add i32 %a, %b
  store i32 %sum, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @loop(ptr addrspace(1) %p, i32 %n) {
entry:
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %body, label %exit
body:
  %i = phi i32 [ 0, %entry ], [ %i.next, %next ]
  switch i32 %i, label %next [ i32 0, label %a
                               i32 1, label %b
                               i32 2, label %c
                               i32 3, label %a
                               i32 4, label %b ]
a:
  store volatile i32 1, ptr addrspace(1) %p
  br label %next
b:
  store volatile i32 2, ptr addrspace(1) %p
  br label %next
c:
  store volatile i32 3, ptr addrspace(1) %p
  br label %next
next:
  %i.next = add i32 %i, 1
  %more = icmp slt i32 %i.next, %n
  br i1 %more, label %body, label %exit
exit:
  ret void
}
