; Graphviz draws what -oriel-dot and oriel cfg --dot write: a node for every block, an edge for every edge.

; REQUIRES: graphviz
; RUN: rm -rf %t && mkdir %t
; RUN: %llc -oriel=analyze -oriel-dot=%t %s -o /dev/null
; RUN: dot -Tsvg %t/k.ssa.dot -o %t/k.svg 2>&1 | count 0
; RUN: FileCheck %s --input-file=%t/k.svg
; RUN: dot -Tplain %t/k.ssa.dot | FileCheck %s --check-prefix=PLAIN
; RUN: %oriel cfg --dot --sm 80 %s | dot -Tplain | FileCheck %s --check-prefix=STAGES

; CHECK: <svg
; CHECK-DAG: <title>bix0</title>
; CHECK-DAG: <title>bix1</title>
; CHECK-DAG: <title>bix2</title>
; CHECK-DAG: <title>bix0&#45;&gt;bix1</title>
; CHECK-DAG: <title>bix1&#45;&gt;bix1</title>
; CHECK-DAG: <title>bix1&#45;&gt;bix2</title>
; CHECK: </svg>

; PLAIN: graph
; PLAIN-COUNT-3: node bix
; PLAIN-NOT: node
; PLAIN-COUNT-3: edge bix
; PLAIN-NOT: edge
; PLAIN: stop

; STAGES-COUNT-2: stop

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  store volatile i32 %i, ptr addrspace(1) %p
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %end, label %loop
end:
  ret void
}
