; LLVM reduces the strength of innermost loops only, so only these are asked about. Of others, its pass moves the comparison to the
; branch, which stays so.

; RUN: %llc -pass-remarks-analysis=oriel %s -o %t.ptx 2> %t.remarks
; RUN: grep -c "is left out" %t.remarks | FileCheck %s --check-prefix=ONE
; RUN: %llc -oriel-loop-strength-reduction=off -pass-remarks-analysis=oriel %s -o - 2> %t.off | cmp - %t.ptx
; RUN: grep -c "is left out" %t.off | FileCheck %s --check-prefix=ONE
; ONE: 1
; RUN: FileCheck %s --input-file=%t.ptx

; CHECK: Inner Loop Header
; CHECK-NOT: add.s64 {{.*}}, 4;
; CHECK: bra
; CHECK: setp
; CHECK-NEXT: bra
; CHECK-NOT: bra
; CHECK: ret

target triple = "nvptx64-nvidia-cuda"

; Both loops take 16 registers all the time.
define ptx_kernel void @nested(ptr %a, ptr %b, ptr %c, ptr %d, ptr %e, i32 %n) {
entry:
  %ag = addrspacecast ptr %a to ptr addrspace(1)
  %bg = addrspacecast ptr %b to ptr addrspace(1)
  %cg = addrspacecast ptr %c to ptr addrspace(1)
  %dg = addrspacecast ptr %d to ptr addrspace(1)
  %eg = addrspacecast ptr %e to ptr addrspace(1)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %start = zext i32 %tid to i64
  %count = zext i32 %n to i64
  br label %outer
outer:
  %o = phi i64 [ 0, %entry ], [ %o.next, %outer.end ]
  %o.next = add i64 %o, 1
  %o.more = icmp ult i64 %o.next, %count
  br label %loop
loop:
  %i = phi i64 [ 0, %outer ], [ %next, %loop ]
  %at = add i64 %i, %start
  %pa = getelementptr float, ptr addrspace(1) %ag, i64 %at
  %pb = getelementptr float, ptr addrspace(1) %bg, i64 %at
  %pc = getelementptr float, ptr addrspace(1) %cg, i64 %at
  %pd = getelementptr float, ptr addrspace(1) %dg, i64 %at
  %pe = getelementptr float, ptr addrspace(1) %eg, i64 %at
  %x = load volatile float, ptr addrspace(1) %pa
  store volatile float %x, ptr addrspace(1) %pb
  store volatile float %x, ptr addrspace(1) %pc
  store volatile float %x, ptr addrspace(1) %pd
  store volatile float %x, ptr addrspace(1) %pe
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %outer.end
outer.end:
  br i1 %o.more, label %outer, label %exit
exit:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
