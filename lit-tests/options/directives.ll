; What the PTX tells ptxas: a register limit, and loops that stay rolled.

; RUN: %llc %s -o - | FileCheck %s --check-prefix=NONE
; RUN: %llc -oriel-nounroll=none %s -o - | FileCheck %s --check-prefix=NONE
; RUN: %llc -oriel=analyze -oriel-nounroll=all -oriel-maxnreg=32 %s -o - | FileCheck %s --check-prefix=NONE
; NONE-NOT: {{nounroll|maxnreg 32}}

; RUN: %llc -oriel-nounroll=all -oriel-maxnreg=32 %s -o - | FileCheck %s --check-prefixes=LIMIT,ALL
; LIMIT: .entry k(
; LIMIT: {{^}}.maxnreg 32
; ALL: .pragma "nounroll"
; ALL: .pragma "nounroll"
; ALL: .pragma "nounroll"
; A kernel keeps its own limit, and a device function cannot have one.
; LIMIT: .entry limited(
; LIMIT-NOT: .maxnreg 32
; LIMIT: {{^}}.maxnreg 64
; LIMIT: .func device
; LIMIT-NOT: .maxnreg

; A limit is set only if the launch bounds leave more: ptxas would obey a higher one, and the block would not fit.
; RUN: %llc -mcpu=sm_80 -oriel-maxnreg=64 %s -o - | FileCheck %s --check-prefix=BOUNDED
; RUN: %llc -mcpu=sm_80 -oriel-maxnreg=63 %s -o - | FileCheck %s --check-prefix=BELOW
; BOUNDED: .entry bounded(
; BOUNDED-NOT: .maxnreg
; BOUNDED: .entry limited(
; BELOW: .entry bounded(
; BELOW: {{^}}.maxnreg 63

; Loops are counted in the order of their headers: outer, inner, last.
; RUN: %llc -oriel-nounroll=0 %s -o - | FileCheck %s --check-prefix=OUTER
; RUN: %llc -oriel-nounroll=1,7 %s -o - | FileCheck %s --check-prefix=INNER
; RUN: %llc -oriel-nounroll=1,2 -oriel-phases=none %s -o - | FileCheck %s --check-prefixes=INNER,LAST
; OUTER: Loop Header: Depth=1
; OUTER: .pragma "nounroll"
; OUTER-NOT: nounroll
; INNER: Loop Header: Depth=1
; INNER-NOT: nounroll
; INNER: Loop Header: Depth=2
; INNER: .pragma "nounroll"
; LAST: Loop Header: Depth=1
; LAST: .pragma "nounroll"

; Other properties of a loop stay.
; RUN: %llc -oriel-nounroll=2 -stop-after=oriel-late %s -o - | FileCheck %s --check-prefix=PROPERTIES
; PROPERTIES: [[LOOP:![0-9]+]] = distinct !{[[LOOP]], [[PROGRESS:![0-9]+]], [[ROLLED:![0-9]+]]}
; PROPERTIES: [[PROGRESS]] = !{!"llvm.loop.mustprogress"}
; PROPERTIES: [[ROLLED]] = !{!"llvm.loop.unroll.disable"}

; RUN: not %llc -oriel-maxnreg=8 %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REGISTERS
; REGISTERS: -oriel-maxnreg option: '8' is not allowed; allowed is a number from 16 to 255
; RUN: not %llc -oriel-nounroll=0,x %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=LOOPS
; LOOPS: -oriel-nounroll option: '0,x' is not allowed; allowed are: all, none, numbers of loops such as 0,2

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n, i32 %m) {
entry:
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i.next, %latch ]
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j.next, %inner ]
  %at = getelementptr i32, ptr addrspace(1) %p, i32 %j
  store volatile i32 %i, ptr addrspace(1) %at
  %j.next = add i32 %j, 1
  %more.inner = icmp slt i32 %j.next, %m
  br i1 %more.inner, label %inner, label %latch
latch:
  %i.next = add i32 %i, 1
  %more.outer = icmp slt i32 %i.next, %n
  br i1 %more.outer, label %outer, label %last
last:
  %l = phi i32 [ 0, %latch ], [ %l.next, %last ]
  store volatile i32 %l, ptr addrspace(1) %p
  %l.next = add i32 %l, 1
  %more.last = icmp slt i32 %l.next, %n
  br i1 %more.last, label %last, label %exit, !llvm.loop !0
exit:
  ret void
}

define ptx_kernel void @bounded() "nvvm.maxntid"="1024" {
  ret void
}

define ptx_kernel void @limited() "nvvm.maxnreg"="64" {
  ret void
}

define void @device() {
  ret void
}

!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.mustprogress"}
