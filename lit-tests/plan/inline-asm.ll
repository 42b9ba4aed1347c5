; Inline assembly: its registers can be replaced, what describes its operands cannot, ties stay, and what is written early stays
; apart from what is read. With side effects there is one of it.

; RUN: split-file %s %t
; RUN: %edited SSA
; RUN: %edited-mir TIED oriel-ssa
; RUN: %edited CLONE
; RUN: %edited LATE
; RUN: %refused DESCRIPTION
; RUN: %refused TEXT
; RUN: %refused KIND
; RUN: %refused ONE-OF-A-PAIR
; RUN: %refused CONVERGENT
; RUN: %refused EFFECTS
; RUN: %refused EARLY

; SSA: ld.param.b32 [[A:%r[0-9]+]], [k_param_1];
; SSA: mov.b32 [[X:%r[0-9]+]], [[A]];
; SSA: add.u32 [[X]], [[X]], [[X]];

; TIED: INLINEASM {{.*}} def [[X:%[0-9]+]], {{[0-9]+}} /* reguse tiedto:$0 */, {{(killed )?}}%2(tied-def 3)
; TIED: COPY [[X]]

; CLONE: mul.lo.u32 [[Y:%r[0-9]+]],
; CLONE: mul.lo.u32 [[Z:%r[0-9]+]],

; LATE: add.u32 [[X:%r[0-9]+]], [[X]],
; LATE: mul.lo.u32

; DESCRIPTION: at stage ssa {{.*}}: malformed plan: instruction {{[0-9]+}} changes operand 2 of inline assembly
; TEXT: at stage ssa {{.*}}: malformed plan: instruction {{[0-9]+}} changes operand 0 of inline assembly
; KIND: at stage ssa {{.*}}: malformed plan: instruction {{[0-9]+}} changes the kind of operand 7
; ONE-OF-A-PAIR: at stage late {{.*}}: malformed plan: instruction {{[0-9]+}} breaks a tied operand
; CONVERGENT: at stage ssa {{.*}}: edit script: line 2: the instruction must not be duplicated

; EFFECTS: at stage ssa {{.*}}: edit script: line 2: the instruction must not be duplicated
; EARLY: at stage late {{.*}}: malformed plan: operand 5 of instruction {{[0-9]+}} is read from the register that operand 3 is written to early

;--- SSA.edit
function k ssa
set INLINEASM#0 7 = %1
;--- TIED.edit
function k ssa
set INLINEASM#0 5 = %2
;--- CLONE.edit
function k ssa
clone INLINEASM#1 before ST_i32#0 with 3 = %other:B32
;--- LATE.edit
function k late
insert before INLINEASM#0: %copy:B32 = COPY INLINEASM#0.7
set INLINEASM#0 7 = %copy
;--- DESCRIPTION.edit
function k ssa
set INLINEASM#0 2 = 9
;--- TEXT.edit
function k ssa
set INLINEASM#0 0 = INLINEASM#1.0
;--- KIND.edit
function k ssa
set INLINEASM#0 7 = 5
;--- ONE-OF-A-PAIR.edit
function k late
set INLINEASM#0 5 = INLINEASM#0.7
;--- CONVERGENT.edit
function k ssa
clone INLINEASM#2 before ST_i32#0
;--- EFFECTS.edit
function k ssa
clone INLINEASM#3 before ST_i32#0
;--- EARLY.edit
function k late
set INLINEASM#1 5 = INLINEASM#1.3
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %x = call i32 asm "add.u32 $0, $1, $2;", "=r,0,r"(i32 %a, i32 %b)
  %y = call i32 asm "mul.lo.u32 $0, $1, 5;", "=&r,r"(i32 %x)
  call void asm sideeffect "bar.sync 0;", ""() convergent
  call void asm sideeffect "nanosleep.u32 5;", ""()
  store i32 %y, ptr addrspace(1) %p
  store volatile i32 %a, ptr addrspace(1) %p
  ret void
}
