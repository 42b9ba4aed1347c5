; Plans damaged at random are refused or, where they happen to be valid, give code that LLVM's verifier accepts.

; RUN: %lab-llc %S/faults.ll -oriel-verify -oriel-inject-fault=mutated-plan:1 -verify-machineinstrs -o %t.ptx
; RUN: %lab-llc %S/faults.ll -oriel-verify -oriel-inject-fault=mutated-plan:2 -verify-machineinstrs -o %t.ptx
; RUN: %lab-llc %S/faults.ll -oriel-verify -oriel-inject-fault=mutated-plan:3 -verify-machineinstrs -o %t.ptx
; RUN: %lab-llc %S/faults.ll -oriel-verify -oriel-inject-fault=mutated-plan:4 -verify-machineinstrs -o %t.ptx
; RUN: %lab-llc %S/faults.ll -oriel-verify -oriel-inject-fault=mutated-plan:5 -verify-machineinstrs -o %t.ptx
; RUN: %lab-llc %S/faults.ll -oriel-verify -oriel-inject-fault=mutated-plan:6 -verify-machineinstrs -o %t.ptx
; RUN: %lab-llc %S/faults.ll -oriel-verify -oriel-inject-fault=mutated-plan:7 -verify-machineinstrs -o %t.ptx
; RUN: %lab-llc %S/faults.ll -oriel-verify -oriel-inject-fault=mutated-plan:8 -verify-machineinstrs -o %t.ptx

; The same seed does the same.
; RUN: %lab-llc %S/faults.ll -oriel-verify -oriel-inject-fault=mutated-plan:8 -o %t.again 2> %t.again.err
; RUN: %lab-llc %S/faults.ll -oriel-verify -oriel-inject-fault=mutated-plan:8 -o %t.ptx 2> %t.err
; RUN: diff %t.ptx %t.again
; RUN: diff %t.err %t.again.err
