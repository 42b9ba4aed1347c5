; A function whose tables would be too large stays as LLVM made it, unless its phases are named.

; RUN: %llc -oriel=off %s -o %t.plain
; RUN: %llc -oriel-table-limit=0 -pass-remarks-missed=oriel %s -o %t.limited 2>&1 | FileCheck %s --check-prefix=REMARK
; RUN: diff %t.plain %t.limited
; RUN: %llc %s -o %t.ptx
; RUN: not diff %t.plain %t.ptx
; RUN: %llc -oriel-table-limit=0 -oriel-phases=OriCopyProp %s -o %t.named
; RUN: not diff %t.plain %t.named
; RUN: not %llc -oriel-table-limit=-1 %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG

; REMARK: remark: {{.*}}: profile: the function stays as it is: a table of its live registers would have 1 MiB; -oriel-table-limit allows more
; WRONG: '-1' is not allowed; allowed is a number from 0 to 1048576

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @accumulators(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n) {
entry:
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %loop, label %exit

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %a = phi float [ 0.0, %entry ], [ %a.next, %loop ]
  %at = getelementptr float, ptr addrspace(1) %p, i32 %i
  %x = load volatile float, ptr addrspace(1) %at
  %a.next = fadd float %a, %x
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit

exit:
  %a.last = phi float [ 0.0, %entry ], [ %a.next, %loop ]
  store float %a.last, ptr addrspace(1) %q
  ret void
}
