; All users of a frozen value see the same one, whatever it is: what a load of memory reads that no store
; reaches may not become a register that is undefined to each of its users. SROA would promote the object before
; Oriel sees it.
; RUN: %llc -mcpu=sm_80 -O3 -start-before=codegenprepare -oriel-least-pressure=0 %s -o - | FileCheck %s

target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: .entry frozen(
; CHECK-NOT: .local
; CHECK: mov.b32 %[[FROZEN:r[0-9]+]], 0;
; CHECK: st.volatile.global.b32 [{{.*}}], %[[FROZEN]];
; CHECK: st.volatile.global.b32 [{{.*}}], %[[FROZEN]];
define ptx_kernel void @frozen(ptr addrspace(1) %to, i32 %stored) {
  %object = alloca [4 x i32], align 16
  store i32 %stored, ptr %object
  %never_stored = getelementptr i32, ptr %object, i64 2
  %loaded = load i32, ptr %never_stored
  %frozen = freeze i32 %loaded
  %is_small = icmp ult i32 %frozen, 10
  br i1 %is_small, label %small, label %end

small:
  %index = zext i32 %frozen to i64
  %element = getelementptr i32, ptr addrspace(1) %to, i64 %index
  store i32 %frozen, ptr addrspace(1) %element
  br label %end

end:
  store volatile i32 %frozen, ptr addrspace(1) %to
  store volatile i32 %frozen, ptr addrspace(1) %to
  %first = load i32, ptr %object
  store i32 %first, ptr addrspace(1) %to
  ret void
}
