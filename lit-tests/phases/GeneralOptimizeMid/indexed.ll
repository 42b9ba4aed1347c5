; An array whose elements an index chooses goes to registers if knob 135 says that it is small enough: loads select among the
; elements, stores select what each element becomes.

; The validator has no proof of this change (docs/validator.md), so it is off.
; RUN: %llc -oriel-phases=GeneralOptimizeMid -pass-remarks-missed=oriel %s -o %t.none.ptx 2>&1 | FileCheck %s --check-prefix=NONE
; RUN: %llc-plain %s -o - | diff %t.none.ptx -
; RUN: %llc -oriel-phases=GeneralOptimizeMid -oriel-knob=ConvertMemoryToRegIndexedSizeLimit=16 -oriel-verify -oriel-validate=off -verify-machineinstrs \
; RUN:   -oriel-report=%t.json %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx
; RUN: FileCheck %s --input-file=%t.json --check-prefix=COUNTS
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; NONE: stack object 0 of 16 bytes stays in memory: its address is computed here with an offset that is not constant

; CHECK-LABEL: .entry pick(
; CHECK-NOT: local
; CHECK: setp.eq.b32 {{.*}}, 1;
; CHECK: selp.b32
; CHECK: selp.b32
; CHECK: selp.b32
; CHECK-NOT: local
; CHECK: ret;

; CHECK-LABEL: .entry histogram(
; CHECK-NOT: local
; CHECK: ret;

; Thirty-two bytes are more than the knob allows.
; CHECK-LABEL: .entry large(
; CHECK: ld.local

; COUNTS: "function":"pick"{{.*}}"promoted-indexed":1{{.*}}"selections":3

; What costs more than it saves, a profile takes back: seven selections of eight elements against the load.
; RUN: %llc -oriel-profile=max -oriel-least-pressure=0 -oriel-knob=135=32 -pass-remarks-missed=oriel %s -o - 2>%t.remarks | FileCheck %s --check-prefix=PROFILE
; RUN: FileCheck %s --input-file=%t.remarks --check-prefix=TAKEN-BACK
; PROFILE-LABEL: .entry pick(
; PROFILE-NOT: local
; PROFILE-LABEL: .entry histogram(
; PROFILE-LABEL: .entry large(
; PROFILE: ld.local
; TAKEN-BACK: profile: the function stays as it is: weighted instructions

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @pick(ptr addrspace(1) %out, i32 %a, i32 %b, i32 %number) {
  %array = alloca [4 x i32], align 4
  store i32 %a, ptr %array
  %second = getelementptr i8, ptr %array, i64 4
  store i32 %b, ptr %second
  %third = getelementptr i8, ptr %array, i64 8
  store i32 7, ptr %third
  %fourth = getelementptr i8, ptr %array, i64 12
  store i32 9, ptr %fourth
  %wide = zext i32 %number to i64
  %place = getelementptr [4 x i32], ptr %array, i64 0, i64 %wide
  %value = load i32, ptr %place
  store i32 %value, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @histogram(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %count) {
entry:
  %array = alloca [2 x float], align 8
  store <2 x float> zeroinitializer, ptr %array, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr addrspace(1) %in, i64 %i
  %value = load float, ptr addrspace(1) %from
  %number = fptosi float %value to i32
  %bin = and i32 %number, 1
  %place = getelementptr float, ptr %array, i32 %bin
  %old = load float, ptr %place
  %new = fadd float %old, %value
  store float %new, ptr %place
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  %both = load <2 x float>, ptr %array, align 8
  store <2 x float> %both, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @large(ptr addrspace(1) %numbers, ptr addrspace(1) %out, i64 %count) {
entry:
  %array = alloca [8 x i32], align 16
  %first = load <4 x i32>, ptr addrspace(1) %out
  store <4 x i32> %first, ptr %array
  %half = getelementptr i8, ptr %array, i64 16
  %from.half = getelementptr i8, ptr addrspace(1) %out, i64 16
  %second = load <4 x i32>, ptr addrspace(1) %from.half
  store <4 x i32> %second, ptr %half
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %new, %loop ]
  %from = getelementptr i64, ptr addrspace(1) %numbers, i64 %i
  %number = load i64, ptr addrspace(1) %from
  %place = getelementptr i32, ptr %array, i64 %number
  %value = load i32, ptr %place
  %new = add i32 %sum, %value
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  store i32 %new, ptr addrspace(1) %out
  ret void
}
