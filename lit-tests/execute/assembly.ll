; Inline assembly and opaque intrinsics have no meaning, and a made-up one when asked for.
;
; RUN: %oriel exec %s --sm 90 --blind 1 --stage ssa --json | FileCheck %s --check-prefix=NONE
; NONE: {{unsupported.*GRIDDEPCONTROL_WAIT.*fault.*unsupported}}
; RUN: %oriel exec %s --sm 90 --blind 1 --uninterpreted | FileCheck %s
; CHECK: ssa k: hash [[HASH:[0-9a-f]+]]
; CHECK: late k: hash [[HASH]]
;
; RUN: %oriel differential %s --sm 90 --mutate merge-across-effect | FileCheck %s --check-prefix=MERGE
; MERGE: merge-across-effect        2           2         2      2
; Ori's verifier refuses a source in the register of an early result.
; RUN: %oriel differential %s --sm 90 --mutate early-clobber 2>&1 | FileCheck %s --check-prefix=EARLY
; EARLY: early-clobber              0           0         0      0              0          0           0         0       1
; RUN: %oriel differential %s --sm 90 --mutate drop-effect | FileCheck %s --check-prefix=DROP
; DROP: drop-effect                2           2         2      2
;
; What is generated for a processor is accepted by its assembler.
; RUN: %oriel generate --assembly --sm 80 --shape mixed --functions 5 | FileCheck %s --check-prefix=GENERATED
; RUN: not %oriel generate --assembly --sm x 2>&1 | FileCheck %s --check-prefix=PROCESSOR
; GENERATED: asm
; PROCESSOR: error: invalid value 'x' for '--sm <SM>': a compute capability is a number such as 80
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.griddepcontrol.wait()

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n) {
  %a = load i32, ptr addrspace(1) %p
  call void @llvm.nvvm.griddepcontrol.wait()
  %b = load i32, ptr addrspace(1) %p
  %c = call i32 asm "mov.u32 $0, 5;\0A\09add.u32 $0, $0, $1;", "=&r,r"(i32 %n)
  %sum = add i32 %a, %b
  %all = xor i32 %sum, %c
  %q = getelementptr i32, ptr addrspace(1) %p, i64 1
  store i32 %all, ptr addrspace(1) %q
  ret void
}
