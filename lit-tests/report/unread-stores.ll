; Stores to local memory that nothing reads get a warning; what is read, or may be, gets none.

; RUN: %llc -oriel=analyze %s -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=warning:
; RUN: %llc -oriel-warn-unread-stores=on %s -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=warning:
; RUN: %llc -oriel=analyze -oriel-warn-unread-stores=off %s -o /dev/null 2>&1 | count 0

; CHECK: warning: oriel: Found 2 store(s) to local memory that nothing reads in function unread

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @unread(i32 %a) {
  %array = alloca [4 x i32], align 4
  %second = getelementptr [4 x i32], ptr %array, i32 0, i32 1
  store i32 %a, ptr %array
  store i32 7, ptr %second
  ret void
}
define ptx_kernel void @read(ptr addrspace(1) %p, i32 %a) {
  %array = alloca i32, align 4
  store i32 %a, ptr %array
  %again = load i32, ptr %array
  store i32 %again, ptr addrspace(1) %p
  ret void
}
