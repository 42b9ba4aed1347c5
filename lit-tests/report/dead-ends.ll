; ptxas knows that nothing runs behind `exit`. Julia's compiler reports an error, exits and then branches to code that goes on, so to LLVM
; all values live over the call. The estimate counts neither these nor what the error's function does.

; RUN: %oriel features --sm 80 %s | FileCheck %s
; RUN: sed 's/"exit;"/"\/\/ goes on"/' %s > %t.ll && %oriel features --sm 80 %t.ll | FileCheck %s --check-prefix=GOES-ON

; CHECK: "calls":0.0
; CHECK-SAME: "live_over_calls":0.0
; CHECK-SAME: "nodes":9.0
; CHECK-SAME: "unknown_calls":1.0
; CHECK-SAME: "function":"k"
; GOES-ON: "calls":{{[1-9]}}
; GOES-ON-SAME: "live_over_calls":{{[1-9]}}
; GOES-ON-SAME: "nodes":25.0
; GOES-ON-SAME: "unknown_calls":1.0
; GOES-ON-SAME: "function":"k"

target triple = "nvptx64-nvidia-cuda"

declare i32 @vprintf(ptr, ptr)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define void @report() noinline {
  %local = alloca i64
  store volatile i64 1, ptr %local
  %printed = call i32 @vprintf(ptr null, ptr %local)
  ret void
}

define ptx_kernel void @k(ptr addrspace(1) %out, i64 %size) {
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %index = zext i32 %lane to i64
  %place = getelementptr i64, ptr addrspace(1) %out, i64 %index
  %value = load i64, ptr addrspace(1) %place
  %isWithin = icmp ult i64 %index, %size
  br i1 %isWithin, label %goOn, label %error

error:
  call void @report()
  call void asm sideeffect "exit;", ""()
  br label %goOn

goOn:
  %next = getelementptr i64, ptr addrspace(1) %place, i64 %value
  store i64 %value, ptr addrspace(1) %next
  ret void
}
