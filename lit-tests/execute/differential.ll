; Functions before and after phases: oriel differential, and oriel exec on what it saves.
;
; RUN: %oriel differential %s --save %t | FileCheck %s
; CHECK-DAG: MergeBasicBlocks@ssa: changed 0 of 1
; CHECK-DAG: MergeBasicBlocks@late: changed 0 of 1
; CHECK: 1 kernels, 2 tested modules, {{[0-9]+}} lists of phases, {{.*}} through machine code, 0 inputs without a result, 0 problems
;
; RUN: %oriel differential %s --mutate invert-branch | FileCheck %s --check-prefix=EDIT
; EDIT: wrong edit          injected interpreter validator   both validator only equivalent more inputs
; EDIT: invert-branch              2           2         2      2              0          0           0
; EDIT: of 2 that are not equivalent, the validator rejects 100.00 %, the interpreter detects 100.00 %
; RUN: not %oriel differential %s --mutate merge-loads 2>&1 | FileCheck %s --check-prefix=NEVER
; NEVER: oriel: wrong edits that were never caught: merge-loads
; RUN: not %oriel differential %s --mutate nonsense 2>&1 | FileCheck %s --check-prefix=KIND
; KIND: 'nonsense' is not a kind of wrong edit; kinds are: swap-operands, drop-store,
; RUN: %oriel differential --mutate list | FileCheck %s --check-prefix=LIST
; LIST: drop-store {{.*}}Removes a store.
;
; RUN: %oriel exec %s --blind 1 --stage ssa --before OptimizeHotColdFlow --after MergeBasicBlocks@ssa \
; RUN:   | FileCheck %s --check-prefix=BEFORE
; BEFORE: ssa k: hash [[HASH:[0-9a-f]+]]
; BEFORE: ssa before OptimizeHotColdFlow k: hash [[HASH]]
; BEFORE: ssa after MergeBasicBlocks@ssa k: hash [[HASH]]
; RUN: not %oriel exec %s --blind 1 --kernel nothing 2>&1 | FileCheck %s --check-prefix=KERNEL
; KERNEL: oriel: there is no kernel 'nothing'; there are: {{[a-z_]+}}
; RUN: not %oriel exec %s --blind 1 --before nonsense 2>&1 | FileCheck %s --check-prefix=PHASE
; PHASE: 'nonsense' is no phase; phases are:
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @k(ptr addrspace(1) %out, i32 %bound) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %address = getelementptr i32, ptr addrspace(1) %out, i32 %thread
  %small = icmp slt i32 %thread, %bound
  br i1 %small, label %then, label %else

then:
  %square = mul i32 %thread, %thread
  store i32 %square, ptr addrspace(1) %address
  br label %end

else:
  store i32 %bound, ptr addrspace(1) %address
  br label %end

end:
  ret void
}
