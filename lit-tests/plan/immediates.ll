; Constants become operands of additions with carry, here of 128 bits, and of compare-and-swap.

; RUN: %llc -oriel-profile=ptxas -oriel-verify -verify-machineinstrs %s -o - 2>&1 | FileCheck %s
; RUN: %llc -oriel-profile=ptxas -oriel-verify %s -o %t.ptx
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; CHECK-NOT: warning
; CHECK-LABEL: .entry sum(
; CHECK: add.cc.s64 %rd{{[0-9]+}}, %rd{{[0-9]+}}, -1;
; CHECK: addc.cc.s64 %rd{{[0-9]+}}, %rd{{[0-9]+}}, -1;
define ptx_kernel void @sum(i1 %is_less, i128 %value, ptr addrspace(1) %to) {
entry:
  %all = sext i1 %is_less to i128
  br i1 %is_less, label %less, label %done

less:
  %sum = add i128 %all, %value
  store i128 %sum, ptr addrspace(1) %to, align 8
  ret void

done:
  ret void
}

; CHECK-LABEL: .entry exchange(
; CHECK: atom.relaxed.sys.global.cas.b32 %r{{[0-9]+}}, [%rd{{[0-9]+}}], 0, 7;
define ptx_kernel void @exchange(i1 %is_first, ptr addrspace(1) %to) {
entry:
  %new = select i1 %is_first, i32 7, i32 9
  br i1 %is_first, label %first, label %done

first:
  %pair = cmpxchg ptr addrspace(1) %to, i32 0, i32 %new monotonic monotonic, align 4
  %old = extractvalue { i32, i1 } %pair, 0
  store i32 %old, ptr addrspace(1) %to, align 4
  ret void

done:
  ret void
}
