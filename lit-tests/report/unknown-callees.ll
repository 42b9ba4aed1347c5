; A function waits only for functions of its module, and a call by address may reach each of these.
; RUN: %llc -oriel-report=- %s -o /dev/null | FileCheck %s

; CHECK: "function":"external","is_kernel":true,{{.*}}"stage":"late"
; CHECK: "function":"by_address","is_kernel":true,{{.*}}"stage":"ssa"
; CHECK: "function":"plain","is_kernel":true,{{.*}}"stage":"late"
; CHECK: "function":"callee","is_kernel":false,{{.*}}"stage":"late"
; CHECK: "function":"by_address","is_kernel":true,{{.*}}"stage":"late"

target triple = "nvptx64-nvidia-cuda"
declare void @unknown()
define ptx_kernel void @external() {
  call void @unknown()
  ret void
}
define ptx_kernel void @by_address(ptr %function) {
  call void %function()
  ret void
}
define ptx_kernel void @plain(ptr %p) {
  store i32 1, ptr %p
  ret void
}
define void @callee(ptr %p) {
  store i32 2, ptr %p
  ret void
}
