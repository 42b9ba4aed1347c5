; What Oriel is not for: -O0, optnone, -oriel=off, other targets, declarations. Nothing happens, nothing is said.

; RUN: %llc-plain -O0 %s -o %t.plain
; RUN: %lab-llc -O0 -oriel-inject-fault=panic -oriel-report=%t.report %s -o %t.ptx 2>&1 | count 0
; RUN: diff %t.plain %t.ptx
; RUN: not ls %t.report

; RUN: %llc-plain %s -o %t.plain
; RUN: %lab-llc -oriel=off -oriel-inject-fault=panic -oriel-report=%t.report %s -o %t.ptx 2>&1 | count 0
; RUN: diff %t.plain %t.ptx
; RUN: not ls %t.report

; RUN: %lab-llc -oriel-inject-fault=panic %s -o %t.ptx 2>&1 | FileCheck %s --implicit-check-not=oriel:
; RUN: diff %t.plain %t.ptx

; RUN: %llc-bare -mtriple=x86_64-linux-gnu %s -o %t.plain
; RUN: %llc-bare -load=%laboratory -mtriple=x86_64-linux-gnu -oriel-inject-fault=panic %s -o %t.s 2>&1 | count 0
; RUN: diff %t.plain %t.s

; RUN: %llc-bare -load=%plugin -mtriple=x86_64-linux-gnu -oriel=optimize -oriel-phases=none %s -o %t.s 2>&1 | count 0
; RUN: diff %t.plain %t.s

; CHECK: oriel: function 'optimized' at stage ssa is left
; CHECK: oriel: function 'optimized' at stage late is left

declare void @elsewhere(ptr)

define void @optimized(ptr %p, i32 %a) {
  store i32 %a, ptr %p
  ret void
}

define void @not_optimized(ptr %p, i32 %a) optnone noinline {
  store i32 %a, ptr %p
  ret void
}
