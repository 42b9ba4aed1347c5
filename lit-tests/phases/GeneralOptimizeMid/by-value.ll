; A structure that is passed by value lies on the stack, because LLVM's own promotion works before calls have their parameters.
; Behind instruction selection its address goes nowhere but into loads and stores: its parts become registers, and the stack
; and its name are gone. With and without debug information the code is the same.

; RUN: %llc-plain %s -o %t.plain.ptx
; RUN: FileCheck %s --input-file=%t.plain.ptx --check-prefix=BEFORE
; RUN: %llc -oriel-phases=GeneralOptimizeMid -oriel-verify -verify-machineinstrs -oriel-report=%t.json %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx --check-prefix=AFTER
; RUN: FileCheck %s --input-file=%t.json --check-prefix=COUNTS
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; The conversion goes by the reference's name as well; knobs turn it off.
; RUN: %llc -oriel-phases=ConvertMemoryToRegisterOrUniform %s -o - | diff %t.ptx -
; RUN: %llc -oriel-disable-phases=ConvertMemoryToRegisterOrUniform %s -o %t.disabled.ptx
; RUN: grep -q __local_depot %t.disabled.ptx
; RUN: %llc -oriel-phases=GeneralOptimizeMid -oriel-knob=GeneralOptimize=0 %s -o - | diff %t.plain.ptx -
; RUN: %llc -oriel-phases=GeneralOptimizeMid -oriel-knob=136=0 %s -o - | diff %t.plain.ptx -

; RUN: opt -passes=debugify -S %s -o %t.debug.ll
; RUN: %llc -oriel-phases=GeneralOptimizeMid -oriel-verify %t.debug.ll -o %t.debug.ptx
; RUN: grep -oE "^[[:space:]]+(@?%%p[0-9]+ |@!%%p[0-9]+ )?(ld|st|add|mul|mov|setp|call|ret|bra|\.param)[^;]*;" %t.ptx > %t.code
; RUN: grep -oE "^[[:space:]]+(@?%%p[0-9]+ |@!%%p[0-9]+ )?(ld|st|add|mul|mov|setp|call|ret|bra|\.param)[^;]*;" %t.debug.ptx | diff %t.code -

; BEFORE-LABEL: .entry pass(
; BEFORE: .local {{.*}}__local_depot
; BEFORE: st.local
; BEFORE: ld.local

; AFTER-LABEL: .entry pass(
; AFTER-NOT: local
; AFTER: st.param.b32 {{.*}}param0
; AFTER: ret;

; The parts that the loop changes are PHIs; what comes before it stays outside.
; AFTER-LABEL: .entry carried(
; AFTER-NOT: local
; AFTER: ret;

; What optnone keeps from optimisers is kept from Oriel.
; AFTER-LABEL: .entry left(
; AFTER: __local_depot
; AFTER: st.b32 [%SP]

; COUNTS: "function":"pass"{{.*}}"promoted-objects":1
; COUNTS: "function":"carried"{{.*}}"phis":2{{.*}}"promoted-objects":1

target triple = "nvptx64-nvidia-cuda"

%triple = type { i32, float, i32 }

declare float @use(ptr byval(%triple) align 4)

define ptx_kernel void @pass(ptr addrspace(1) %out, i32 %a, float %b) {
entry:
  %local = alloca %triple, align 4
  %twice = add i32 %a, %a
  store i32 %twice, ptr %local
  %second = getelementptr i8, ptr %local, i64 4
  store float %b, ptr %second
  %third = getelementptr i8, ptr %local, i64 8
  store i32 7, ptr %third
  %result = call float @use(ptr byval(%triple) align 4 %local)
  store float %result, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @carried(ptr addrspace(1) %out, i32 %n, float %b) {
entry:
  %local = alloca %triple, align 4
  store i32 0, ptr %local
  %second = getelementptr i8, ptr %local, i64 4
  store float %b, ptr %second
  %third = getelementptr i8, ptr %local, i64 8
  store i32 %n, ptr %third
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %result = call float @use(ptr byval(%triple) align 4 %local)
  store float %result, ptr %second
  %next = add i32 %i, 1
  store i32 %next, ptr %local
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit

exit:
  %last = load float, ptr %second
  store float %last, ptr addrspace(1) %out
  ret void
}

define ptx_kernel void @left(i32 %a, float %b) noinline optnone {
entry:
  %local = alloca %triple, align 4
  store i32 %a, ptr %local
  %second = getelementptr i8, ptr %local, i64 4
  store float %b, ptr %second
  %third = getelementptr i8, ptr %local, i64 8
  store i32 7, ptr %third
  %result = call float @use(ptr byval(%triple) align 4 %local)
  ret void
}
