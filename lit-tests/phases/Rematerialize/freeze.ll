; All users of a frozen value see the same value. LLVM turns this one into an undefined register that a single
; xor reads, so both stores store the same. If Oriel repeated the xor before each store, the two reads of the
; undefined register could differ, and so could the stores.
; RUN: %llc -mcpu=sm_80 -O3 -oriel-least-pressure=0 -oriel-register-budget=4 -pass-remarks-missed=oriel %s -o %t.ptx 2>&1 | FileCheck --check-prefix=REMARK %s
; RUN: FileCheck %s < %t.ptx
; REMARK: the function stays as it is: it reads %{{[0-9]+}}, which is undefined

target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: .entry frozen(
; CHECK: xor.b32 %[[VALUE:r[0-9]+]], {{.*}}, 55555;
; CHECK-NOT: 55555
; CHECK: ], %[[VALUE]];
; CHECK-NOT: 55555
; CHECK: ], %[[VALUE]];
define ptx_kernel void @frozen(ptr addrspace(1) %to, i32 %given) {
entry:
  %frozen = freeze i32 poison
  %decides = load volatile i32, ptr addrspace(1) %to
  %given0 = xor i32 %given, 100
  %given1 = xor i32 %given, 101
  %given2 = xor i32 %given, 102
  %given3 = xor i32 %given, 103
  %value = xor i32 %frozen, 55555
  %loaded0 = load volatile i32, ptr addrspace(1) %to
  %loaded1 = load volatile i32, ptr addrspace(1) %to
  %loaded2 = load volatile i32, ptr addrspace(1) %to
  %loaded3 = load volatile i32, ptr addrspace(1) %to
  %loaded4 = load volatile i32, ptr addrspace(1) %to
  %loaded5 = load volatile i32, ptr addrspace(1) %to
  %loaded6 = load volatile i32, ptr addrspace(1) %to
  %loaded7 = load volatile i32, ptr addrspace(1) %to
  store volatile i32 %loaded0, ptr addrspace(1) %to
  store volatile i32 %loaded1, ptr addrspace(1) %to
  store volatile i32 %loaded2, ptr addrspace(1) %to
  store volatile i32 %loaded3, ptr addrspace(1) %to
  store volatile i32 %loaded4, ptr addrspace(1) %to
  store volatile i32 %loaded5, ptr addrspace(1) %to
  store volatile i32 %loaded6, ptr addrspace(1) %to
  store volatile i32 %loaded7, ptr addrspace(1) %to
  %is_first = icmp eq i32 %decides, 77
  br i1 %is_first, label %first, label %behind_first

first:
  store volatile i32 %given0, ptr addrspace(1) %to
  store volatile i32 %given1, ptr addrspace(1) %to
  store volatile i32 %given2, ptr addrspace(1) %to
  store volatile i32 %given3, ptr addrspace(1) %to
  store volatile i32 %value, ptr addrspace(1) %to
  br label %behind_first

behind_first:
  %is_second = icmp ne i32 %decides, 78
  br i1 %is_second, label %second, label %end

second:
  store volatile i32 %given0, ptr addrspace(1) %to
  store volatile i32 %given1, ptr addrspace(1) %to
  store volatile i32 %given2, ptr addrspace(1) %to
  store volatile i32 %given3, ptr addrspace(1) %to
  store volatile i32 %value, ptr addrspace(1) %to
  br label %end

end:
  ret void
}
