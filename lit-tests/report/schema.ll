; Whatever the report writes fits its schema, and the schema refuses what is not in it.

; REQUIRES: jsonschema
; RUN: %llc -oriel=analyze -oriel-report=- %s -o /dev/null | %python %S/Inputs/validate.py %schema | FileCheck %s --check-prefix=FOUR
; RUN: %llc -oriel-report=- %s -o /dev/null | %python %S/Inputs/validate.py %schema | FileCheck %s --check-prefix=FOUR
; RUN: %lab-llc -oriel-report=- -oriel-inject-fault=malformed-plan %s -o /dev/null 2>/dev/null | %python %S/Inputs/validate.py %schema | FileCheck %s --check-prefix=FOUR
; RUN: %oriel report --sm 52,80,90 --json --details %s %S/pressure.ll | %python %S/Inputs/validate.py %schema | FileCheck %s --check-prefix=NINE
; RUN: echo '{"module":"m","function":"f","is_kernel":true,"sm":80,"stage":"late","blocks":1,"instructions_out":1,"other":1}' | not %python %S/Inputs/validate.py %schema 2>&1 | FileCheck %s --check-prefix=OTHER
; FOUR: 4 valid lines
; NINE: 9 valid lines
; OTHER: 'other' was unexpected

target triple = "nvptx64-nvidia-cuda"
define i32 @helper(i32 %a) noinline {
  %r = mul i32 %a, %a
  ret i32 %r
}
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) "nvvm.maxntid"="256" {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
