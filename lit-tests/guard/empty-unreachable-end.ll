; A block that ends in `unreachable` has no branch. That a phase removes everything else in it is no reason to give up its result,
; though LLVM says that some of its loads have side effects.

; RUN: %llc -mattr=+ptx86 -oriel-profile=ptxas %s -o %t.ptx 2>&1 | count 0
; RUN: FileCheck %s < %t.ptx

; CHECK-LABEL: .func copies
; CHECK-NOT: {{(ld|st)\.}}
; CHECK-LABEL: .func stops
; CHECK: trap;

target triple = "nvptx64-nvidia-cuda"

@text = internal constant [25 x i8] c"text\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00"

define void @copies() {
  %copy = alloca [25 x i8]
  call void @llvm.memcpy.p0.p0.i32(ptr align 1 %copy, ptr align 1 @text, i32 25, i1 false)
  unreachable
}

define void @stops() {
  %copy = alloca [25 x i8]
  call void @llvm.memcpy.p0.p0.i32(ptr align 1 %copy, ptr align 1 @text, i32 25, i1 false)
  call void @llvm.trap()
  unreachable
}

declare void @llvm.memcpy.p0.p0.i32(ptr nocapture, ptr nocapture, i32, i1)
declare void @llvm.trap()
