; Functions without a name have a file each, whose name is no option.
; RUN: rm -rf %t && mkdir %t
; RUN: %llc -oriel=analyze -oriel-snapshot=%t %s -o /dev/null
; RUN: ls %t | FileCheck %s

; CHECK: unnamed-{{[0-9a-f]+}}.late.oriel
; CHECK: unnamed-{{[0-9a-f]+}}.late.oriel
; CHECK-NOT: late

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @0(ptr %p) {
  store i32 1, ptr %p
  ret void
}
define ptx_kernel void @1(ptr %p) {
  store i32 2, ptr %p
  ret void
}
