; In late form a cycle with two entries is entered through a block that looks at a selector; in SSA form it stays.

; The validator has no proof of this change (docs/validator.md), so it is off.
; RUN: %llc-plain %s -o %t.plain
; RUN: FileCheck %s --input-file=%t.plain --check-prefix=BEFORE
; RUN: %llc -oriel-phases=LoopMakeSingleEntry@late -oriel-verify -oriel-validate=off -verify-machineinstrs -oriel-report=%t.json -oriel-print-after-all %s -o %t.ptx 2>&1 | FileCheck %s --check-prefix=ORI
; RUN: FileCheck %s --input-file=%t.ptx --check-prefix=AFTER
; RUN: FileCheck %s --input-file=%t.json --check-prefix=REPORT
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; RUN: %llc -oriel-phases=LoopStructurePass@ssa -oriel-verify -oriel-validate=off -oriel-report=%t.json %s -o %t.ptx
; RUN: cmp %t.plain %t.ptx
; RUN: FileCheck %s --input-file=%t.json --check-prefix=SSA

; BEFORE-NOT: mov.pred
; BEFORE: @%p1 bra $L__BB0_2;

; ORI: // after LoopMakeSingleEntry
; ORI: kernel "k" sm_80 late

; AFTER-DAG: mov.pred %[[SELECTOR:p[0-9]+]], {{0|-1}};
; AFTER: @%[[SELECTOR]] bra
; AFTER: st.volatile.global.b32 [%rd1], {{[12]}};

; REPORT: "phases":{"LoopMakeSingleEntry":{"dispatch-blocks":1{{.*}}}}
; SSA: "outcome":"identity","phases":{"LoopMakeSingleEntry":{"missed-irreducible-cycles":1}}

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  %c = icmp eq i32 %n, 0
  br i1 %c, label %a, label %b
a:
  store volatile i32 1, ptr addrspace(1) %p
  br label %b
b:
  store volatile i32 2, ptr addrspace(1) %p
  %v = load volatile i32, ptr addrspace(1) %p
  %d = icmp eq i32 %v, 0
  br i1 %d, label %a, label %end
end:
  ret void
}
