; A parameter that is used before and behind a place with many live registers is loaded again behind it, with and without
; debug information. Within the budget, and where the value cannot be made anew, nothing changes.

; RUN: %llc-plain %s -o %t.plain.ptx
; RUN: FileCheck %s --input-file=%t.plain.ptx --check-prefix=BEFORE
; RUN: %llc -oriel-phases=OriSplitLiveRanges -oriel-register-budget=10 -oriel-verify -verify-machineinstrs -oriel-report=%t.json %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx --check-prefix=AFTER
; RUN: FileCheck %s --input-file=%t.json --check-prefix=COUNTS
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; RUN: %llc -oriel-phases=OriSplitLiveRanges -oriel-register-budget=10 -pass-remarks=oriel -pass-remarks-missed=oriel %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS
; RUN: %llc -oriel-phases=OriSplitLiveRanges -oriel-register-budget=10 -oriel-knob=456=0 %s -o - | diff %t.plain.ptx -
; RUN: %llc -oriel-phases=OriSplitLiveRanges -oriel-register-budget=100 %s -o - | diff %t.plain.ptx -

; RUN: opt -passes=debugify -S %s -o %t.debug.ll
; RUN: %llc -oriel-phases=OriSplitLiveRanges -oriel-register-budget=10 -oriel-verify %t.debug.ll -o %t.debug.ptx
; RUN: grep -oE "^[[:space:]]+(@?%%p[0-9]+ |@!%%p[0-9]+ )?(ld|st|add|mov|ret)[^;]*;" %t.ptx > %t.code
; RUN: grep -oE "^[[:space:]]+(@?%%p[0-9]+ |@!%%p[0-9]+ )?(ld|st|add|mov|ret)[^;]*;" %t.debug.ptx | diff %t.code -

; BEFORE-LABEL: .entry parameter(
; BEFORE: [parameter_param_1]
; BEFORE-NOT: [parameter_param_1]
; BEFORE: ret;

; AFTER-LABEL: .entry parameter(
; AFTER: [parameter_param_1]
; AFTER: ld.volatile.global.b32
; AFTER: [parameter_param_1]
; AFTER: ret;

; AFTER-LABEL: .entry loaded(
; AFTER-COUNT-10: ld.volatile.global.b32
; AFTER-NOT: ld.volatile.global.b32
; AFTER: ret;

; REMARKS: remark: {{.*}}: OriSplitLiveRanges: at most 10 units of data registers are live at once, before 11
; REMARKS: remark: {{.*}}: OriSplitLiveRanges: [[#]] units of data registers are live at once, more than 10, and no value

; COUNTS: "function":"parameter"{{.*}}"peak-before":[[#PEAK:]],
; COUNTS-SAME: "peak-after":[[#PEAK-1]]
; COUNTS: "function":"loaded"
; COUNTS-NOT: "split-registers"

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @parameter(ptr addrspace(1) %p, i32 %n) {
  store volatile i32 %n, ptr addrspace(1) %p
  %a = load volatile i32, ptr addrspace(1) %p
  %b = load volatile i32, ptr addrspace(1) %p
  %c = load volatile i32, ptr addrspace(1) %p
  %d = load volatile i32, ptr addrspace(1) %p
  %e = load volatile i32, ptr addrspace(1) %p
  %f = load volatile i32, ptr addrspace(1) %p
  %g = load volatile i32, ptr addrspace(1) %p
  %h = load volatile i32, ptr addrspace(1) %p
  store volatile i32 %h, ptr addrspace(1) %p
  store volatile i32 %g, ptr addrspace(1) %p
  store volatile i32 %f, ptr addrspace(1) %p
  store volatile i32 %e, ptr addrspace(1) %p
  store volatile i32 %d, ptr addrspace(1) %p
  store volatile i32 %c, ptr addrspace(1) %p
  store volatile i32 %b, ptr addrspace(1) %p
  store volatile i32 %a, ptr addrspace(1) %p
  store volatile i32 %n, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @loaded(ptr addrspace(1) %p) {
  %z = load volatile i32, ptr addrspace(1) %p
  store volatile i32 %z, ptr addrspace(1) %p
  %a = load volatile i32, ptr addrspace(1) %p
  %b = load volatile i32, ptr addrspace(1) %p
  %c = load volatile i32, ptr addrspace(1) %p
  %d = load volatile i32, ptr addrspace(1) %p
  %e = load volatile i32, ptr addrspace(1) %p
  %f = load volatile i32, ptr addrspace(1) %p
  %g = load volatile i32, ptr addrspace(1) %p
  %h = load volatile i32, ptr addrspace(1) %p
  %i = load volatile i32, ptr addrspace(1) %p
  store volatile i32 %i, ptr addrspace(1) %p
  store volatile i32 %h, ptr addrspace(1) %p
  store volatile i32 %g, ptr addrspace(1) %p
  store volatile i32 %f, ptr addrspace(1) %p
  store volatile i32 %e, ptr addrspace(1) %p
  store volatile i32 %d, ptr addrspace(1) %p
  store volatile i32 %c, ptr addrspace(1) %p
  store volatile i32 %b, ptr addrspace(1) %p
  store volatile i32 %a, ptr addrspace(1) %p
  store volatile i32 %z, ptr addrspace(1) %p
  ret void
}
