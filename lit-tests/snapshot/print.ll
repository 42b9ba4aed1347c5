; oriel snapshot prints what was written.

; RUN: rm -rf %t && mkdir %t
; RUN: %llc -oriel-snapshot=%t %s -o /dev/null
; RUN: ls %t | FileCheck %s --check-prefix=FILES
; RUN: %oriel snapshot %t/k.ssa.oriel | FileCheck %s --check-prefix=SSA
; RUN: %oriel snapshot %t/k.late.oriel | FileCheck %s --check-prefix=LATE
; RUN: %oriel snapshot --check %t/k.ssa.oriel %t/k.late.oriel | count 0
; RUN: %oriel snapshot --check --damage 200 %t/k.ssa.oriel | FileCheck %s --check-prefix=DAMAGE

; A name that is no file name gets a checksum.
; FILES: a-name-with-dots-{{[0-9a-f]+}}.late.oriel
; FILES: k.late.oriel
; FILES: k.ssa.oriel

; SSA: kernel k stage ssa sm_80 ptx0 {
; SSA: bb.1.loop: -> bb.1 ({{[0-9.]+}}%), bb.2 ({{[0-9.]+}}%)
; SSA: @{{[0-9]+}} %{{[0-9]+}}:b32 = PHI %{{[0-9]+}}, %bb.0, %{{[0-9]+}}, %bb.1
; SSA: ST_i32 {{.*}} :: (volatile store 4 bytes at base 1, addrspace 1)
; SSA: Return
; SSA: }

; LATE: kernel k stage late sm_80 ptx0 {
; LATE: bb.0.entry: frequency 1.000 -> bb.1 (100.0%)
; LATE-NOT: PHI

; DAMAGE: 200 damaged copies: {{[0-9]+}} still valid, {{[0-9]+}} refused

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  store volatile i32 %i, ptr addrspace(1) %p
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
define ptx_kernel void @"a.name.with.dots"() {
  ret void
}
