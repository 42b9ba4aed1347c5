; A flag that changes in each round of a loop. In late form it is one register, and its NOT is no copy of anything.

; RUN: %llc -oriel-phases=OriCopyPropLate -oriel-verify %s -o - | FileCheck %s
; RUN: %llc -oriel-profile=ptxas -oriel-verify %s -o - | FileCheck %s

; CHECK: not.pred [[FLAG:%p[0-9]+]], [[FLAG]];
define ptx_kernel void @alternate(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n, i64 %w) {
entry:
  %v = load i32, ptr addrspace(1) %in, align 4
  %is_seven = icmp eq i32 %v, 7
  %is_nine = icmp eq i64 %w, 9
  %first = or i1 %is_seven, %is_nine
  br label %loop

loop:
  %flag = phi i1 [ %first, %entry ], [ %not, %loop ]
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %word = zext i1 %flag to i32
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %word, ptr addrspace(1) %to, align 4
  %not = xor i1 %flag, true
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done

done:
  ret void
}
