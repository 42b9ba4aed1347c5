; LLVM's loop strength reduction merges induction variables that always have the same value, such as the index of an unrolled
; loop and the counter of its rounds. Where the pass is left out, Oriel merges them.

; RUN: %llc -pass-remarks-analysis=oriel %s -o - 2> %t.remarks | FileCheck %s
; RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
; RUN: %llc -oriel-loop-strength-reduction=off %s -o - | FileCheck %s

; LLVM's bisection counts this instead of LLVM's pass, and can leave it out.
; RUN: %llc-plain -opt-bisect-limit=0 %s -o %t.none.ptx 2> /dev/null
; RUN: %llc -opt-bisect-limit=0 %s -o - 2> %t.bisect | diff %t.none.ptx -
; RUN: FileCheck %s --check-prefix=BISECT --input-file=%t.bisect
; RUN: %llc -opt-bisect-limit=-1 %s -o - 2> /dev/null | FileCheck %s
; BISECT-NOT: Loop Strength Reduction
; BISECT: BISECT: NOT running pass ({{[0-9]+}}) Oriel (after loop strength reduction) on loop

; REMARK: remark: {{.*}} LLVM's loop strength reduction is left out

; CHECK: Loop Header
; CHECK-COUNT-1: add.s64 {{.*}}, 4;
; CHECK-NOT: add.s64 {{.*}}, 4;
; CHECK: bra

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @two_counters(ptr %a, ptr %b, ptr %c, ptr %d, ptr %e, i64 %n) {
entry:
  %ag = addrspacecast ptr %a to ptr addrspace(1)
  %bg = addrspacecast ptr %b to ptr addrspace(1)
  %cg = addrspacecast ptr %c to ptr addrspace(1)
  %dg = addrspacecast ptr %d to ptr addrspace(1)
  %eg = addrspacecast ptr %e to ptr addrspace(1)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %start = zext i32 %tid to i64
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %round = phi i64 [ 0, %entry ], [ %next.round, %loop ]
  %at = add i64 %i, %start
  %pa = getelementptr float, ptr addrspace(1) %ag, i64 %at
  %pb = getelementptr float, ptr addrspace(1) %bg, i64 %at
  %pc = getelementptr float, ptr addrspace(1) %cg, i64 %at
  %pd = getelementptr float, ptr addrspace(1) %dg, i64 %at
  %pe = getelementptr float, ptr addrspace(1) %eg, i64 %at
  %va = load float, ptr addrspace(1) %pa
  %vb = load float, ptr addrspace(1) %pb
  %vc = load float, ptr addrspace(1) %pc
  %vd = load float, ptr addrspace(1) %pd
  %x = fadd float %va, %vb
  %y = fadd float %vc, %vd
  %z = fadd float %x, %y
  store float %z, ptr addrspace(1) %pe
  %next = add i64 %i, 4
  %next.round = add i64 %round, 4
  %done = icmp eq i64 %next.round, %n
  br i1 %done, label %exit, label %loop
exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
