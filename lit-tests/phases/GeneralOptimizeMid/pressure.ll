; What would take more registers than the budget has stays on the stack, and a remark says so.

; RUN: %llc-plain %s -o %t.plain.ptx
; RUN: %llc -oriel-phases=GeneralOptimizeMid -oriel-verify %s -o - | FileCheck %s
; RUN: %llc -oriel-phases=GeneralOptimizeMid -oriel-register-budget=6 -pass-remarks-missed=oriel %s -o %t.tight.ptx 2>%t.remarks
; RUN: diff %t.plain.ptx %t.tight.ptx
; RUN: FileCheck %s --input-file=%t.remarks --check-prefix=MISSED

; CHECK-LABEL: .entry early(
; CHECK-NOT: local
; CHECK: ret;

; MISSED: GeneralOptimizeMid: stack object 0 of 24 bytes stays in memory: {{[0-9]+}} registers would be live in bix0

target triple = "nvptx64-nvidia-cuda"

declare void @use(ptr byval([6 x i32]) align 4)

define ptx_kernel void @early(ptr addrspace(1) %p) {
  %local = alloca [6 x i32], align 4
  %a = load volatile i32, ptr addrspace(1) %p
  store i32 %a, ptr %local
  %b = load volatile i32, ptr addrspace(1) %p
  %at.b = getelementptr i8, ptr %local, i64 4
  store i32 %b, ptr %at.b
  %c = load volatile i32, ptr addrspace(1) %p
  %at.c = getelementptr i8, ptr %local, i64 8
  store i32 %c, ptr %at.c
  %d = load volatile i32, ptr addrspace(1) %p
  %at.d = getelementptr i8, ptr %local, i64 12
  store i32 %d, ptr %at.d
  %e = load volatile i32, ptr addrspace(1) %p
  %at.e = getelementptr i8, ptr %local, i64 16
  store i32 %e, ptr %at.e
  %f = load volatile i32, ptr addrspace(1) %p
  %at.f = getelementptr i8, ptr %local, i64 20
  store i32 %f, ptr %at.f
  call void @use(ptr byval([6 x i32]) align 4 %local)
  ret void
}
