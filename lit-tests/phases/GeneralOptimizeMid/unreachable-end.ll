; A store that nothing reads is removed from the end of a block whose end is not reached. From PTX 8.3 on, LLVM writes no `exit`
; there, so nothing takes the place of the store. What may stop control stays.

; RUN: %llc-plain -mattr=+ptx83 -O1 %s -o - | FileCheck %s --check-prefix=LLVM
; RUN: %llc -mattr=+ptx83 -O1 -oriel-phases=GeneralOptimizeMid -oriel-verify -verify-machineinstrs %s -o - 2>&1 | FileCheck %s

; CHECK-NOT: malformed
; LLVM-LABEL: .func f(
; LLVM: st.local.b64
; CHECK-LABEL: .func f(
; CHECK-NOT: st.local.b64 {{.*}}, 0;
; CHECK: st.global.b32 [{{.*}}], 1;
; CHECK: ret;

target triple = "nvptx64-nvidia-cuda"

declare void @llvm.assume(i1)

define void @f(i1 %c, ptr addrspace(1) %out, ptr addrspace(1) %in) {
  %a = alloca [2 x i64], align 16
  br i1 %c, label %returns, label %undefined

undefined:
  store i32 1, ptr addrspace(1) %out
  store i64 0, ptr %a
  unreachable

returns:
  store i64 5, ptr %a
  %v = load i32, ptr addrspace(1) %in
  %address = ptrtoint ptr %a to i64
  %low = and i64 %address, 15
  %aligned = icmp eq i64 %low, 0
  call void @llvm.assume(i1 %aligned)
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %v
  %w = load i64, ptr %a
  %q = getelementptr i8, ptr addrspace(1) %p, i64 %w
  store i32 1, ptr addrspace(1) %q
  ret void
}
