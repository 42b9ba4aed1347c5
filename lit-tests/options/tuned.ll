; Each function that a file knows by its hash is compiled with options of its own.

; RUN: %llc -oriel-report=%t.report %s -o %t.plain
; RUN: sed -n 's/.*"function":"rolled".*"stage":"ssa","hash":"\([0-9a-f]*\)".*/{"sm":80,"hash":"\1","function":"rolled","flags":"-oriel-nounroll=0 -oriel-least-pressure=0"}/p' %t.report > %t.tuned
; RUN: sed -n 's/.*"function":"small".*"stage":"ssa","hash":"\([0-9a-f]*\)".*/{"sm":80,"hash":"\1","function":"small","flags":"-oriel-maxnreg=24 -oriel=optimize","registers":8}/p' %t.report >> %t.tuned
; RUN: FileCheck %s --check-prefix=FILE --input-file=%t.tuned
; FILE: "rolled"
; FILE-NEXT: "small"

; RUN: %llc -oriel-tuned=%t.tuned -pass-remarks=oriel -pass-remarks-missed=oriel %s -o %t.ptx 2> %t.remarks
; RUN: FileCheck %s --input-file=%t.ptx
; RUN: FileCheck %s --check-prefix=REMARK --input-file=%t.remarks
; RUN: FileCheck %s --check-prefix=PLAIN --input-file=%t.plain
; PLAIN: .entry rolled(
; PLAIN: __local_depot
; CHECK: .entry plain(
; CHECK: sub.s32
; CHECK-NOT: nounroll
; CHECK: .entry rolled(
; CHECK-NOT: .maxnreg
; CHECK-NOT: __local_depot
; CHECK: .pragma "nounroll"
; CHECK: .entry small(
; CHECK: {{^}}.maxnreg 24
; CHECK: sub.s32
; REMARK-DAG: tuned: compiled with -oriel-nounroll=0 -oriel-least-pressure=0 from {{.*}}.tuned
; REMARK-DAG: tuned: compiled with -oriel-maxnreg=24 -oriel=optimize from {{.*}}.tuned
; REMARK-NOT: no longer

; Code in another module has the same hash; code that has changed has not, and a remark says so.
; RUN: sed '/^define.*@plain/,/^}/d' %s > %t.fewer.ll
; RUN: %llc -oriel-tuned=%t.tuned %t.fewer.ll -o - | grep -c 'nounroll\|maxnreg' | FileCheck %s --check-prefix=BOTH
; BOTH: 2
; RUN: sed 's/40960/40961/' %s > %t.changed.ll
; RUN: %llc -oriel-tuned=%t.tuned -pass-remarks-missed=oriel %t.changed.ll -o - 2>&1 | FileCheck %s --check-prefix=CHANGED
; CHANGED: tuned: the code is no longer what {{.*}}.tuned was made for; run oriel tune again
; CHANGED-NOT: {{nounroll|maxnreg}}

; LLVM numbers calls through all functions, and strings through the module; the numbers are not part of the hash.
; RUN: sed -n 's/.*"function":"calls".*"stage":"ssa","hash":"\([0-9a-f]*\)".*/{"sm":80,"hash":"\1","function":"calls","flags":"-oriel-maxnreg=24"}/p' %t.report > %t.calls
; RUN: %llc -oriel-tuned=%t.calls %s -o - | grep -c maxnreg | FileCheck %s --check-prefix=ONE
; RUN: sed '/^define.*@first/,/^}/d' %s > %t.others.ll
; RUN: %llc -oriel-tuned=%t.calls %t.others.ll -o - | grep -c maxnreg | FileCheck %s --check-prefix=ONE
; RUN: sed 's/@.str.1/@.str.7/' %s > %t.strings.ll
; RUN: %llc -oriel-tuned=%t.calls %t.strings.ll -o - | grep -c maxnreg | FileCheck %s --check-prefix=ONE
; ONE: 1
; RUN: sed 's/c"some/c"same/' %s > %t.other-string.ll
; RUN: %llc -oriel-tuned=%t.calls %t.other-string.ll -o - | FileCheck %s --check-prefix=OTHER

; Analysis changes nothing, whatever the file says. Empty lines say nothing.
; RUN: echo >> %t.tuned
; RUN: %llc -oriel=analyze -oriel-tuned=%t.tuned -pass-remarks=oriel %s -o - 2>&1 | FileCheck %s --check-prefix=ANALYZED
; ANALYZED-NOT: {{tuned|nounroll|maxnreg}}

; Another compute capability has its own best.
; RUN: %llc -mcpu=sm_90 -oriel-tuned=%t.tuned %s -o - | FileCheck %s --check-prefix=OTHER
; OTHER-NOT: {{nounroll|maxnreg}}

; RUN: echo '{"sm":80,"hash":"1","function":"k","flags":"-oriel-report=x"}' > %t.wrong
; RUN: not %llc -oriel-tuned=%t.wrong %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG
; WRONG: {{.*}}.wrong:1: a function cannot have the option -oriel-report; allowed are: -oriel, -oriel-disable-phases
; RUN: not %llc -oriel-tuned=%t.missing %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=MISSING
; MISSING: {{.*}}.missing: No such file

target triple = "nvptx64-nvidia-cuda"

%pair = type { i32, i32 }

declare i32 @use(ptr byval(%pair) align 4)

define void @first(ptr %callee) {
  call void %callee(i32 1)
  ret void
}

@.str.1 = private unnamed_addr constant [5 x i8] c"some\00"

define ptx_kernel void @calls(ptr %callee) {
  call void %callee(i32 1)
  store ptr @.str.1, ptr %callee
  %result = call i32 %callee(i32 2)
  store i32 %result, ptr %callee
  ret void
}

define ptx_kernel void @plain(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %product = mul i32 %a, 4096
  %difference = sub i32 %b, %product
  store i32 %difference, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @rolled(ptr addrspace(1) %p, i32 %a, i32 %b) {
entry:
  %local = alloca %pair, align 4
  store i32 %a, ptr %local
  %second = getelementptr i8, ptr %local, i64 4
  store i32 40960, ptr %second
  %result = call i32 @use(ptr byval(%pair) align 4 %local)
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  store volatile i32 %result, ptr addrspace(1) %p
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %b
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

define ptx_kernel void @small(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %product = mul i32 %b, 40960
  %difference = sub i32 %a, %product
  store i32 %difference, ptr addrspace(1) %p
  ret void
}
