; RUN: %llc -oriel-phases=GeneralOptimizeMid -oriel-knob=ConvertMemoryToRegIndexedSizeLimit=64 \
; RUN:   -pass-remarks-missed=oriel %s -o /dev/null 2>&1 | FileCheck %s
;
; The access that overlaps another is one of an attempt's, which the function itself does not have.
; CHECK: stack object 0 of 8 bytes stays in memory: this access partly overlaps another
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(i64 %index, ptr addrspace(1) %out) {
  %words = alloca [8 x i8], align 16
  store i16 0, ptr %words, align 2
  %place = getelementptr i8, ptr %words, i64 %index
  %word = load i32, ptr %place, align 4
  %wide = zext i32 %word to i64
  store i64 %wide, ptr addrspace(1) %out, align 8
  ret void
}
