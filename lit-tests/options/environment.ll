; Every option has an environment form; the command line has the last word.

; RUN: env ORIEL_FLAGS=-oriel=off %llc -oriel-report=- %s -o /dev/null | count 0
; RUN: env ORIEL_FLAGS=-oriel=off %llc -oriel=analyze -oriel-report=- %s -o /dev/null | FileCheck %s
; RUN: env "ORIEL_FLAGS=--oriel-report=- -oriel-phases=none" %llc %s -o /dev/null | FileCheck %s --check-prefix=IDENTITY
; RUN: env "ORIEL_FLAGS=-oriel-report=%t.first" %llc -oriel=analyze -oriel-report=%t.second %s -o /dev/null
; RUN: FileCheck %s --input-file=%t.second
; RUN: not ls %t.first
; RUN: env "ORIEL_FLAGS='-oriel-report=%t with space'" %llc -oriel=analyze %s -o /dev/null
; RUN: FileCheck %s --input-file="%t with space"
; RUN: rm -rf %t && mkdir %t
; RUN: env "ORIEL_FLAGS=-oriel-snapshot=%t -oriel-verify -oriel-inject-fault=panic" %lab-llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PANIC
; RUN: ls %t | FileCheck %s --check-prefix=FILES
; RUN: env ORIEL_FLAGS= %llc %s -o /dev/null 2>&1 | count 0

; The last of two on the command line holds.
; RUN: %llc -oriel=off -oriel=analyze -oriel-report=- %s -o /dev/null | FileCheck %s

; CHECK: "function":"k"{{.*}}"outcome":"unchanged"
; IDENTITY: "function":"k"{{.*}}"outcome":"identity"
; PANIC: function 'k' at stage ssa is left
; FILES: k.late.oriel
; FILES: k.ssa.oriel

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
