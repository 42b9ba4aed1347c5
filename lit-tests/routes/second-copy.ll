; A second copy of the plug-in stays out of everything and says so once; the first one works as before.

; RUN: cp %plugin %t.copy.so
; RUN: %llc -oriel-report=%t.report %s -o %t.ptx
; RUN: %llc -load=%t.copy.so -oriel-report=%t.report2 %s -o %t.ptx2 2>&1 | FileCheck %s
; RUN: diff %t.ptx %t.ptx2
; RUN: grep -c . %t.report2 | FileCheck %s --check-prefix=LINES
; RUN: %llc -load=%laboratory %s -o /dev/null 2>&1 | FileCheck %s
; RUN: %llc -load=%t.copy.so -stop-before=oriel-ssa %s -o %t.mir 2> /dev/null
; RUN: %llc -load=%t.copy.so -run-pass=oriel-ssa,oriel-late -oriel-report=%t.report3 %t.mir -o /dev/null 2> /dev/null
; RUN: grep -c . %t.report3 | FileCheck %s --check-prefix=LINES

; CHECK: oriel: loaded already from another file; the plug-in stays inactive
; CHECK-NOT: oriel:
; LINES: 2

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
