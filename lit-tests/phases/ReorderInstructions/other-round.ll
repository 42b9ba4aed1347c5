; RUN: %llc -oriel-enable-phases=ReorderInstructions -oriel-validate=enforce %s -o - | FileCheck %s
;
; LLVM copies the header's store behind the load of the round before. Its memory operand is based on
; the same value of the source as the load's, but that value is another address by then: with a stride
; of 8 bytes the store writes what the load reads.
; CHECK:      %body2
; CHECK-NOT:  st.global
; CHECK:      ld.global.b64 {{%rd[0-9]+}}, [{{%rd[0-9]+}}+8];
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %stride, i64 %k, i32 %n) {
entry:
  br label %header
body:
  %j = phi i32 [ %n, %header ], [ %j1, %skip ]
  %sj = phi i64 [ %s, %header ], [ %sx, %skip ]
  %t = and i64 %sj, 3
  switch i64 %t, label %body2 [ i64 1, label %skip 
    i64 2, label %exit ]
skip:
  %j1 = add i32 %j, 1
  %sx = lshr i64 %sj, 1
  store volatile i32 %j, ptr addrspace(1) %prev
  br label %body
body2:
  %v = load i128, ptr addrspace(1) %p, align 8
  %hi = lshr i128 %v, 64
  %h = trunc i128 %hi to i64
  %x2 = mul i64 %sj, %k
  %s2 = xor i64 %h, 5
  %p1 = getelementptr i8, ptr addrspace(1) %p, i64 %stride
  br label %header
exit:
  store i64 %sj, ptr addrspace(1) %out
  ret void
header:
  %p = phi ptr addrspace(1) [ %in, %entry ], [ %p1, %body2 ]
  %s = phi i64 [ 0, %entry ], [ %s2, %body2 ]
  %prev = phi ptr addrspace(1) [ %out, %entry ], [ %p, %body2 ]
  %x = phi i64 [ %k, %entry ], [ %x2, %body2 ]
  store i64 %x, ptr addrspace(1) %p, align 8
  br label %body
}
