; Instructions can be cloned with changed operands, unless LLVM says that they must not be duplicated.

; RUN: split-file %s %t
; RUN: %edited SSA
; RUN: %edited LATE
; RUN: %edited-mir MEMORY oriel-late
; RUN: %refused BARRIER
; RUN: %refused SAME

; SSA: add.s32 [[SUM:%r[0-9]+]],
; SSA-NEXT: add.s32 [[AGAIN:%r[0-9]+]],
; SSA-NEXT: mul.lo.s32 {{%r[0-9]+}}, [[AGAIN]],

; LATE: add.s32 [[SUM:%r[0-9]+]], [[A:%r[0-9]+]], [[B:%r[0-9]+]];
; LATE-NEXT: add.s32 [[SUM]], [[SUM]], [[B]];
; LATE-NEXT: mul.lo.s32

; What LLVM knows of the memory access goes with a clone.
; MEMORY: ST_i32 [[VALUE:%[0-9]+]], 8, 0, 1, 32, [[BASE:%[0-9]+]], 0 :: (volatile store (s32) into %ir.p, addrspace 1)
; MEMORY-NEXT: ST_i32 {{(killed )?}}[[VALUE]], 8, 0, 1, 32, {{(killed )?}}[[BASE]], 4 :: (volatile store (s32) into %ir.p, addrspace 1)

; BARRIER: at stage ssa {{.*}}: edit script: line 2: the instruction must not be duplicated
; SAME: at stage ssa {{.*}}: malformed plan: register {{[0-9]+}} is defined twice in SSA form

;--- SSA.edit
function k ssa
clone ADD32rr#0 after ADD32rr#0 with 0 = %again:B32
set MULT32rr#0 1 = %again
;--- LATE.edit
function k late
clone ADD32rr#0 after ADD32rr#0 with 1 = %3
;--- MEMORY.edit
function k late
clone ST_i32#0 after ST_i32#0 with 6 = 4
;--- BARRIER.edit
function k ssa
clone BARRIER_CTA_SYNC_ALIGNED_ALL_i#0 before Return#0
;--- SAME.edit
function k ssa
clone ADD32rr#0 before Return#0
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a, i32 %b) {
  %sum = add i32 %a, %b
  %product = mul i32 %sum, %a
  store volatile i32 %product, ptr addrspace(1) %p
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
