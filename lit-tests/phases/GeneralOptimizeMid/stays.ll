; What keeps objects in memory: somebody else has the address, an index that is not constant, volatile accesses, and accesses that
; overlap in part. Nothing changes, and remarks say why.

; RUN: %llc-plain %s -o %t.plain.ptx
; RUN: %llc -oriel-phases=GeneralOptimizeMid -oriel-verify -pass-remarks-missed=oriel -oriel-report=%t.json %s -o %t.ptx 2>%t.remarks
; RUN: diff %t.plain.ptx %t.ptx
; RUN: FileCheck %s --input-file=%t.remarks
; RUN: FileCheck %s --input-file=%t.json --check-prefix=COUNTS

; CHECK: stack object 0 of 8 bytes stays in memory: its address is used here
; CHECK: stack object 0 of 64 bytes stays in memory: its address is computed here with an offset that is not constant
; CHECK: stack object 0 of 4 bytes stays in memory: this access is volatile or atomic
; CHECK: stack object 0 of 8 bytes stays in memory: this access partly overlaps another

; COUNTS: "function":"call_argument"{{.*}}"address-escapes":1
; COUNTS: "function":"indexed"{{.*}}"indexed":1
; COUNTS: "function":"volatile"{{.*}}"ordered-access":1
; COUNTS: "function":"overlap"{{.*}}"partial-overlap":1

target triple = "nvptx64-nvidia-cuda"

declare void @escape(ptr)
declare void @use(ptr byval(i64) align 8)

define ptx_kernel void @call_argument(ptr addrspace(1) %out, i32 %a) {
  %local = alloca [2 x i32], align 4
  store i32 %a, ptr %local
  call void @escape(ptr %local)
  %value = load i32, ptr %local
  store i32 %value, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @indexed(ptr addrspace(1) %out, i32 %a, i32 %i) {
  %local = alloca [16 x i32], align 4
  store i32 %a, ptr %local
  %other = getelementptr [16 x i32], ptr %local, i64 0, i64 3
  store i32 7, ptr %other
  %at = getelementptr [16 x i32], ptr %local, i64 0, i32 %i
  %value = load i32, ptr %at
  store i32 %value, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @volatile(ptr addrspace(1) %out, i32 %a) {
  %local = alloca i32, align 4
  store volatile i32 %a, ptr %local
  %value = load volatile i32, ptr %local
  store i32 %value, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @overlap(i32 %a, i8 %b) {
  %local = alloca i64, align 8
  store i32 %a, ptr %local
  %second = getelementptr i8, ptr %local, i64 7
  store i8 %b, ptr %second
  call void @use(ptr byval(i64) align 8 %local)
  ret void
}
