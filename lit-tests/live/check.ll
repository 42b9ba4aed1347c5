; -oriel-check-intervals finds nothing to say at either stage and changes nothing; -oriel-bench prints a line
; for each function and stage, and totals.

; RUN: %llc-plain %s -o %t.plain
; RUN: %lab-llc -oriel=analyze -oriel-check-intervals %s -o %t.checked 2>&1 | count 0
; RUN: cmp %t.plain %t.checked
; RUN: %lab-llc -oriel=analyze -oriel-bench=3 %s -o /dev/null | FileCheck %s --check-prefix=BENCH
; RUN: not %lab-llc -oriel-bench=0 %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=ZERO
; RUN: rm -rf %t.dir && mkdir %t.dir
; RUN: %llc -oriel=analyze -oriel-snapshot=%t.dir %s -o /dev/null
; RUN: %oriel live --verify %t.dir/k.late.oriel | FileCheck %s --check-prefix=LIVE
; RUN: %oriel bench -n 3 %t.dir/k.ssa.oriel | FileCheck %s --check-prefix=ALONE

; BENCH: {"function":"k","stage":"ssa","blocks":3,"instructions":{{[0-9]+}},"registers":{{[0-9]+}},"llvm_slot_indexes_ns":{{[1-9][0-9]*}},"llvm_dominators_ns":{{[1-9][0-9]*}},"llvm_live_intervals_ns":{{[1-9][0-9]*}},"oriel_export_ns":{{[1-9][0-9]*}},"oriel_numbering_ns":{{[0-9]+}},"oriel_engine_ns":{{[1-9][0-9]*}},"oriel_whole_export_ns":{{[1-9][0-9]*}},"cold_llvm_ns":{{[1-9][0-9]*}},"cold_oriel_ns":{{[1-9][0-9]*}}}
; BENCH: {"function":"k","stage":"late",
; BENCH-DAG: {"total":"late","functions":1,{{.*}}"ratio":
; BENCH-DAG: {"total":"ssa","functions":1,{{.*}}"ratio":
; ZERO: '0' is not allowed; allowed is a number from 1 to 1000000
; LIVE: Live intervals for machine function: k:
; LIVE: %{{[0-9]+}} [{{[0-9]+}}r,{{.*}}-phi  weight:0.000000e+00
; ALONE: {"function":"k","stage":"ssa",{{.*}}"llvm_live_intervals_ns":0,

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %added, %loop ]
  %address = getelementptr i32, ptr addrspace(1) %p, i32 %i
  %value = load volatile i32, ptr addrspace(1) %address
  %added = add i32 %sum, %value
  %next = add i32 %i, 3
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %exit

exit:
  store i32 %added, ptr addrspace(1) %p
  ret void
}
