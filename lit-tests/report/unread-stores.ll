; Stores to local memory that nothing reads get a warning; what is read, or may be, gets none.

; RUN: %llc -oriel=analyze %s -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=warning:
; RUN: %llc -oriel-warn-unread-stores=on %s -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=warning:
; RUN: %llc -oriel=analyze -oriel-warn-unread-stores=off %s -o /dev/null 2>&1 | count 0

; CHECK: warning: oriel: Found 1 store(s) to local memory that nothing reads in function unread
; CHECK: warning: oriel: Found 1 store(s) to local memory that nothing reads in function beside_read

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @unread(i32 %a, i32 %i) {
  %array = alloca [4 x i32], align 4
  %element = getelementptr [4 x i32], ptr %array, i32 0, i32 %i
  store i32 %a, ptr %element
  ret void
}
define ptx_kernel void @read(ptr addrspace(1) %p, i32 %a, i32 %i, i32 %j) {
  %array = alloca [4 x i32], align 4
  %element = getelementptr [4 x i32], ptr %array, i32 0, i32 %i
  store i32 %a, ptr %element
  %other = getelementptr [4 x i32], ptr %array, i32 0, i32 %j
  %again = load i32, ptr %other
  store i32 %again, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @beside_read(ptr addrspace(1) %p, i32 %a, i32 %i, i32 %j) {
  %array = alloca [4 x i32], align 4
  %unread = alloca [4 x i32], align 4
  %element = getelementptr [4 x i32], ptr %array, i32 0, i32 %i
  store i32 %a, ptr %element
  %lost = getelementptr [4 x i32], ptr %unread, i32 0, i32 %i
  store i32 %a, ptr %lost
  %other = getelementptr [4 x i32], ptr %array, i32 0, i32 %j
  %again = load i32, ptr %other
  store i32 %again, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @stored(ptr addrspace(1) %p, i32 %a, i32 %i) {
  %array = alloca [4 x i32], align 4
  %element = getelementptr [4 x i32], ptr %array, i32 0, i32 %i
  store i32 %a, ptr %element
  store ptr %array, ptr addrspace(1) %p
  ret void
}
declare void @reads(ptr)
define ptx_kernel void @passed(i32 %a, i32 %i) {
  %array = alloca [4 x i32], align 4
  %element = getelementptr [4 x i32], ptr %array, i32 0, i32 %i
  store i32 %a, ptr %element
  call void @reads(ptr %array)
  ret void
}
define ptx_kernel void @elsewhere(ptr %p, i32 %a, i1 %c) {
  %mine = alloca i32, align 4
  %either = select i1 %c, ptr %mine, ptr %p
  store i32 %a, ptr %either
  ret void
}
