; What the analysis counts is in the report, and nothing changes; -oriel-dot and oriel cfg show the same graph.

; RUN: rm -rf %t && mkdir %t
; RUN: %llc-plain %s -o %t/plain.ptx
; RUN: %lab-llc -oriel-phases=AnalyzeControlFlow@ssa,AnalyzeControlFlow@late -oriel-verify -oriel-check-control-flow -oriel-report=- -oriel-dot=%t -oriel-snapshot=%t %s -o %t/k.ptx | FileCheck %s
; RUN: cmp %t/plain.ptx %t/k.ptx
; RUN: %llc -oriel-phases=AnalyzeControlFlow -pass-remarks-analysis=oriel %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
; RUN: FileCheck %s --input-file=%t/k.ssa.dot --check-prefix=DOT
; RUN: %oriel cfg --dot %t/k.ssa.oriel | cmp - %t/k.ssa.dot
; RUN: %oriel cfg %t/k.ssa.oriel | FileCheck %s --check-prefix=CFG
; RUN: %oriel cfg --recursive %t/k.ssa.oriel | FileCheck %s --check-prefix=RECURSIVE
; RUN: %oriel ori %t/k.ssa.oriel > %t/k.ori
; RUN: %oriel cfg %t/k.ori | FileCheck %s --check-prefix=CFG
; RUN: %oriel cfg --sm 80 %s | FileCheck %s --check-prefix=STAGES
; RUN: %llc -stop-after=nvptx-proxyreg-erasure %s -o %t/k.mir
; RUN: %oriel cfg %t/k.mir | FileCheck %s --check-prefixes=CFG,ONE-STAGE
; RUN: not %oriel cfg %t/missing.oriel 2>&1 | FileCheck %s --check-prefix=MISSING

; CHECK: "stage":"ssa"{{.*}}"outcome":"identity","phases":{"AnalyzeControlFlow":{"blocks":5,"edges":6,"back-edges":1,"loops":1}}
; CHECK: "stage":"late"{{.*}}"phases":{"AnalyzeControlFlow":{"blocks":5,

; REMARK: remark: <unknown>:0:0: AnalyzeControlFlow: 5 blocks, 6 edges, 1 natural loops

; DOT: digraph f {
; DOT-NEXT: node [fontname="Courier",fontsize=10,shape=Mrecord];
; DOT-NEXT: "bix0"
; DOT-NEXT: [label="bix0(L0)"]
; DOT-NEXT: bix0 -> bix1
; DOT: }

; CFG: k at stage ssa
; CFG-NEXT: bix0 -> bix1
; CFG: Showing RPO state for each basic block:
; CFG-NEXT: bix0 -> RPONum: 0
; CFG: RPO traversal order: [0, 1,
; CFG: Showing backedge info:
; CFG-NEXT: bix3 -> backedge's successor BB: 1
; CFG: Showing loops:
; CFG-NEXT: bix1 -> depth 1: bix1, {{bix2, bix3|bix3, bix2}}

; ONE-STAGE-NOT: at stage late

; RECURSIVE: RPO traversal order: [0, 1,

; STAGES-DAG: k at stage ssa
; STAGES-DAG: k at stage late

; MISSING: missing.oriel

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %latch ]
  %v = load volatile i32, ptr addrspace(1) %p
  %c = icmp eq i32 %v, 0
  br i1 %c, label %half, label %latch
half:
  store volatile i32 1, ptr addrspace(1) %p
  br label %latch
latch:
  store volatile i32 2, ptr addrspace(1) %p
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %end, label %loop
end:
  store volatile i32 3, ptr addrspace(1) %p
  ret void
}
