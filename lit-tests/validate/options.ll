; Changed functions are proved at both stages, and what LLVM has in the end as well; a wrong change is found.

; RUN: %llc -oriel-least-pressure=0 %s -oriel-validate=enforce -oriel-report=%t.json -o /dev/null
; RUN: FileCheck %s --input-file=%t.json --check-prefix=PROVED
; RUN: %llc -oriel-least-pressure=0 %s -oriel-verify -oriel-report=%t.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty
; RUN: FileCheck %s --input-file=%t.json --check-prefix=PROVED
; RUN: %llc -oriel-least-pressure=0 %s -oriel-report=%t.json -o /dev/null
; RUN: FileCheck %s --input-file=%t.json --check-prefix=OFF
; RUN: not %llc %s -oriel-validate=perhaps -o /dev/null 2>&1 | FileCheck %s --check-prefix=WRONG

; Operands exchanged and constants moved: the same function.
; RUN: %lab-llc %s -oriel-phases=perturb -oriel-validate=check -o /dev/null 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty

; PROVED: "outcome":"changed"{{.*}}"validation":{"is_proved":true}
; OFF: "outcome":"changed"
; OFF-NOT: validation
; QUIET-NOT: warning
; WRONG: 'perhaps' is not allowed; allowed are: off, check, enforce

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
