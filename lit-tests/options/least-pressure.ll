; The profile's phases run where many registers are live at once.

; A kernel with enough registers stays as LLVM made it, and a remark says so, once for both stages.
; RUN: %llc-plain %s -o %t.plain
; RUN: FileCheck %s --check-prefix=PLAIN --input-file=%t.plain
; PLAIN: __local_depot
; RUN: %llc -pass-remarks-missed=oriel %s -o %t.alone 2>%t.remarks
; RUN: cmp %t.plain %t.alone
; RUN: FileCheck %s --check-prefix=ALONE --input-file=%t.remarks
; ALONE: the function stays as it is: it has enough registers (-oriel-least-pressure)
; ALONE-NOT: enough registers

; RUN: %llc -oriel-least-pressure=0 -pass-remarks-missed=oriel %s -o - 2>&1 | FileCheck %s --check-prefix=SHORT
; RUN: %llc -oriel-least-pressure=4 %s -o - | FileCheck %s --check-prefix=SHORT
; RUN: %llc -oriel-least-pressure=100 %s -o - | cmp - %t.plain
; With a small budget, registers are short earlier; profile ptxas runs on every function.
; RUN: %llc -oriel-register-budget=10 %s -o - | FileCheck %s --check-prefix=SHORT
; RUN: %llc -oriel-profile=ptxas -oriel-enable-phases=GeneralOptimizeMid %s -o - | FileCheck %s --check-prefix=SHORT
; What the user asks for runs everywhere.
; RUN: %llc -oriel-enable-phases=GeneralOptimizeMid %s -o - | FileCheck %s --check-prefix=SHORT
; RUN: %llc -oriel-phases=GeneralOptimizeMid %s -o - | FileCheck %s --check-prefix=SHORT
; So does what the user asks for at the late stage, where nothing else needs such a function.
; RUN: %llc -oriel-print-after=OriCopyPropLate -oriel-enable-phases=OriCopyPropLate %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=LATE
; LATE: kernel "k" sm_{{[0-9]+}} late
; A report sees every function, and does not change what happens to it.
; RUN: %llc -oriel-report=%t.json %s -o - | cmp - %t.plain
; RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.json
; REPORT: "function":"k"{{.*}}"stage":"ssa"
; REPORT: "function":"k"{{.*}}"stage":"late"
; SHORT-NOT: enough registers
; SHORT-NOT: __local_depot
; SHORT: ret;

; RUN: not %llc -oriel-least-pressure=256 %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG
; WRONG: -oriel-least-pressure option: '256' is not allowed; allowed is a number from 0 to 255

target triple = "nvptx64-nvidia-cuda"

%pair = type { i32, i32 }

declare i32 @use(ptr byval(%pair) align 4)

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %local = alloca %pair, align 4
  store i32 %a, ptr %local
  %second = getelementptr i8, ptr %local, i64 4
  store i32 %b, ptr %second
  %result = call i32 @use(ptr byval(%pair) align 4 %local)
  store i32 %result, ptr addrspace(1) %p
  ret void
}
