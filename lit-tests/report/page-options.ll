; What --html, --profile and -oriel-report-html take, and what they write without a browser.

; RUN: rm -rf %t && mkdir %t
; RUN: %oriel report --sm 80 --html %t/page.html %s | FileCheck %s --check-prefix=TABLE
; RUN: FileCheck %s --check-prefix=PAGE --input-file=%t/page.html
; RUN: %llc -oriel-least-pressure=0 -oriel-enable-phases=OriCopyPropLate -oriel-report-html=%t/plugin.html %s -o /dev/null
; RUN: FileCheck %s --check-prefixes=PAGE,PHASES --input-file=%t/plugin.html
; RUN: env "ORIEL_FLAGS=-oriel-least-pressure=0 -oriel-enable-phases=OriCopyPropLate -oriel-report-html=%t/flags.html" %llc %s -o %t/with.ptx
; RUN: FileCheck %s --check-prefixes=PAGE,PHASES --input-file=%t/flags.html
; RUN: %llc -oriel-least-pressure=0 -oriel-enable-phases=OriCopyPropLate %s -o %t/without.ptx && cmp %t/with.ptx %t/without.ptx
; RUN: env "ORIEL_FLAGS=-oriel-least-pressure=0 -oriel-enable-phases=OriCopyPropLate" %oriel report --sm 80 --profile max --html %t/both.html %s | FileCheck %s --check-prefix=TABLE
; RUN: FileCheck %s --check-prefixes=PAGE,PHASES,BOTH --input-file=%t/both.html

; A profile is that of the code that is reported, with and without a page.
; RUN: %oriel report --sm 80 --json %s | FileCheck %s --check-prefix=LLVM
; RUN: env ORIEL_FLAGS=-oriel-least-pressure=0 %oriel report --sm 80 --json --profile max %s | FileCheck %s --check-prefix=MAX
; RUN: %oriel report --sm 80 --json --profile ptxas %s | FileCheck %s --check-prefix=MAX

; A page stays until the new one is complete.
; RUN: echo kept > %t/kept.html && not %oriel report --sm 80 --html %t/kept.html %s %t/missing.ll
; RUN: grep -q kept %t/kept.html

; RUN: not %oriel report --profile fast %s 2>&1 | FileCheck %s --check-prefix=WRONG
; RUN: not %oriel report --html %t/page.html --live-ranges %s 2>&1 | FileCheck %s --check-prefix=CONFLICT
; RUN: not %oriel report --html %t/no/page.html %s 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
; RUN: not %oriel report --profile max %t/page.html 2>&1 | FileCheck %s --check-prefix=NO-IR
; RUN: not %llc -oriel-report-html= %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=EMPTY
; RUN: not %llc -oriel-report-html=%t/no/page.html %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNWRITABLE

; TABLE: k{{ +}}kernel{{ +}}80
; PAGE: <!DOCTYPE html>
; PAGE: <script type="application/json" class="function">{"module":"{{[^"]*}}","function":"k"
; PHASES-SAME: "effects":[{"stage":"ssa","before":{"instructions":13,{{.*}}{"phase":"GeneralOptimizeMid","ns":{{[0-9]+}},{{.*}}"promoted-objects":1},"instructions":9,
; PHASES-SAME: {"stage":"late"
; BOTH-SAME: "llvm":{"module":{{.*}}"instructions_out":13,{{.*}}"curve":{"instructions":13,
; PAGE-NEXT: <script type="application/json" class="code">
; LLVM: "instructions_out":13,
; MAX: "instructions_out":9,
; WRONG: 'fast' is not allowed; allowed are: ptxas, max
; CONFLICT: cannot be used with
; UNWRITABLE: page.html{{.*}}No such file or directory
; NO-IR: page.html: --profile takes LLVM IR
; EMPTY: {{a file name is missing|requires a value}}

target triple = "nvptx64-nvidia-cuda"
; What is passed by value lies on the stack, until GeneralOptimizeMid makes registers of it.
%pair = type { i32, i32 }
declare void @use(ptr byval(%pair) align 4)
define ptx_kernel void @k(i32 %a, i32 %b) {
  %local = alloca %pair, align 4
  store i32 %a, ptr %local
  %second = getelementptr i8, ptr %local, i64 4
  store i32 %b, ptr %second
  call void @use(ptr byval(%pair) align 4 %local)
  ret void
}
