; Registers that an instruction uses in the background are touched by nothing else until it is done. No operand says
; when that is, so that only phases run on functions with such an instruction that leave these registers alone
; everywhere. The multiplications of the first two would move above the waits.
; RUN: split-file %s %t
; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 -oriel-profile=ptxas -pass-remarks-missed=oriel %t/wgmma.ll -o %t/wgmma.ptx 2>&1 \
; RUN:   | FileCheck %t/wgmma.ll --check-prefix=REMARK
; RUN: FileCheck %t/wgmma.ll < %t/wgmma.ptx
; LLVM prints one of the variants of a text.
; RUN: sed 's/wgmma.mma_async/wgmma$(.mma_async$|.x$)/' %t/wgmma.ll > %t/variants.ll
; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 -oriel-profile=ptxas %t/variants.ll -o - | FileCheck %t/wgmma.ll
; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 -oriel-enable-phases=SpeculativeHoistCommonInsts %t/wgmma.ll -o - | FileCheck %t/wgmma.ll
; RUN: %llc -mcpu=sm_100a -mattr=+ptx88 -oriel-profile=ptxas -pass-remarks-missed=oriel %t/tcgen05.ll -o %t/tcgen05.ptx 2>&1 \
; RUN:   | FileCheck %t/tcgen05.ll --check-prefix=REMARK
; RUN: FileCheck %t/tcgen05.ll < %t/tcgen05.ptx
; A function without such an instruction is optimised: its multiplication moves.
; RUN: sed 's/wgmma.mma_async/something.else/' %t/wgmma.ll > %t/other.ll
; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 -oriel-profile=ptxas %t/other.ll -o - | FileCheck %t/wgmma.ll --check-prefix=OTHER
; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 -pass-remarks-missed=oriel %t/fragments.ll -o %t/fragments.ptx 2>&1 \
; RUN:   | FileCheck %t/fragments.ll --check-prefix=FRAGMENTS
; RUN: FileCheck %t/fragments.ll < %t/fragments.ptx
; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 -oriel-verify %t/fragments.ll -o - 2>&1 | cmp - %t/fragments.ptx
; RUN: sed 's/wgmma/something/' %t/fragments.ll > %t/others.ll
; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 %t/others.ll -o - | FileCheck %t/fragments.ll --check-prefix=OTHER

;--- wgmma.ll
; REMARK-COUNT-2: the function stays as it is: nothing else may touch the registers of wgmma.mma_async until it is done
; CHECK: wgmma.commit_group
; CHECK-NOT: mul
; CHECK: wgmma.wait_group
; CHECK: mul
; CHECK: wgmma.wait_group
; CHECK: mul
; OTHER: wgmma.commit_group
; OTHER: mul
; OTHER: wgmma.wait_group
; OTHER-NOT: mul
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(i64 %a, i64 %b, ptr addrspace(1) %o, float %n, i1 %c) "nvvm.maxntid"="128" {
entry:
  call void asm sideeffect "wgmma.fence.sync.aligned;", "~{memory}"()
  %r = call { float, float, float, float } asm sideeffect "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0,$1,$2,$3}, $4, $5, 1, 1, 1, 0, 0;", "=f,=f,=f,=f,l,l,0,1,2,3"(i64 %a, i64 %b, float 0.0, float 0.0, float 0.0, float 0.0)
  call void asm sideeffect "wgmma.commit_group.sync.aligned;", "~{memory}"()
  %v = extractvalue { float, float, float, float } %r, 0
  %w = extractvalue { float, float, float, float } %r, 1
  br i1 %c, label %then, label %else

then:
  call void asm sideeffect "wgmma.wait_group.sync.aligned 0;", "~{memory}"()
  %x = fmul float %v, %n
  store float %x, ptr addrspace(1) %o
  br label %end

else:
  call void asm sideeffect "wgmma.wait_group.sync.aligned 0;", "~{memory}"()
  %y = fmul float %v, %n
  %z = fadd float %y, %w
  %o2 = getelementptr float, ptr addrspace(1) %o, i32 1
  store float %z, ptr addrspace(1) %o2
  br label %end

end:
  ret void
}

;--- tcgen05.ll
; REMARK-COUNT-2: the function stays as it is: nothing else may touch the registers of tcgen05.ld until it is done
; CHECK: tcgen05.ld
; CHECK-NOT: mul
; CHECK: tcgen05.wait
; CHECK: mul
; CHECK: tcgen05.wait
; CHECK: mul
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.tcgen05.ld.16x64b.x1(ptr addrspace(6), i1 immarg)
declare void @llvm.nvvm.tcgen05.wait.ld()

define ptx_kernel void @k(ptr addrspace(6) %t, ptr addrspace(1) %o, i32 %n, i1 %c) {
entry:
  %v = call i32 @llvm.nvvm.tcgen05.ld.16x64b.x1(ptr addrspace(6) %t, i1 false)
  br i1 %c, label %then, label %else

then:
  call void @llvm.nvvm.tcgen05.wait.ld()
  %x = mul i32 %v, %n
  store i32 %x, ptr addrspace(1) %o
  br label %end

else:
  call void @llvm.nvvm.tcgen05.wait.ld()
  %y = mul i32 %v, %n
  %z = xor i32 %y, 7
  store i32 %z, ptr addrspace(1) %o
  br label %end

end:
  ret void
}

;--- fragments.ll
; Rematerialize runs: it computes addresses again, but not the fragments of matrix A, which would be written
; between the fence and the multiplication.
; FRAGMENTS: only Rematerialize runs: nothing else may touch the registers of wgmma.mma_async
; CHECK: wgmma.fence
; CHECK-NOT: add.s32
; CHECK: wgmma.mma_async
; CHECK: wgmma.wait_group
; CHECK: mul.wide.u32
; CHECK: st.global
; OTHER: something.fence
; OTHER-COUNT-4: add.s32
; OTHER: something.mma_async
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @k(i64 %b, ptr addrspace(1) %in, ptr addrspace(1) %o, i1 %c) "nvvm.maxntid"="128" {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %x = load i32, ptr addrspace(1) %in
  %a0 = add i32 %x, 16
  %a1 = add i32 %x, 17
  %a2 = add i32 %x, 18
  %a3 = add i32 %x, 19
  %five = mul i32 %t, 5
  %i = sext i32 %five to i64
  %o0 = getelementptr [8 x i32], ptr addrspace(1) %o, i64 %i
  %o1 = getelementptr [16 x i32], ptr addrspace(1) %o, i64 %i
  %o2 = getelementptr [32 x i32], ptr addrspace(1) %o, i64 %i
  %o3 = getelementptr [64 x i32], ptr addrspace(1) %o, i64 %i
  store i32 %a0, ptr addrspace(1) %o0
  store i32 %a1, ptr addrspace(1) %o1
  store i32 %a2, ptr addrspace(1) %o2
  store i32 %a3, ptr addrspace(1) %o3
  br i1 %c, label %full, label %multiply

full:
  %p0 = getelementptr <4 x i32>, ptr addrspace(1) %in, i64 1
  %v0 = load volatile <4 x i32>, ptr addrspace(1) %p0
  %p1 = getelementptr <4 x i32>, ptr addrspace(1) %in, i64 2
  %v1 = load volatile <4 x i32>, ptr addrspace(1) %p1
  %p2 = getelementptr <4 x i32>, ptr addrspace(1) %in, i64 3
  %v2 = load volatile <4 x i32>, ptr addrspace(1) %p2
  %p3 = getelementptr <4 x i32>, ptr addrspace(1) %in, i64 4
  %v3 = load volatile <4 x i32>, ptr addrspace(1) %p3
  %p4 = getelementptr <4 x i32>, ptr addrspace(1) %in, i64 5
  %v4 = load volatile <4 x i32>, ptr addrspace(1) %p4
  %p5 = getelementptr <4 x i32>, ptr addrspace(1) %in, i64 6
  %v5 = load volatile <4 x i32>, ptr addrspace(1) %p5
  %p6 = getelementptr <4 x i32>, ptr addrspace(1) %in, i64 7
  %v6 = load volatile <4 x i32>, ptr addrspace(1) %p6
  %p7 = getelementptr <4 x i32>, ptr addrspace(1) %in, i64 8
  %v7 = load volatile <4 x i32>, ptr addrspace(1) %p7
  %p8 = getelementptr <4 x i32>, ptr addrspace(1) %in, i64 9
  %v8 = load volatile <4 x i32>, ptr addrspace(1) %p8
  %p9 = getelementptr <4 x i32>, ptr addrspace(1) %in, i64 10
  %v9 = load volatile <4 x i32>, ptr addrspace(1) %p9
  store volatile <4 x i32> %v0, ptr addrspace(1) %p0
  store volatile <4 x i32> %v1, ptr addrspace(1) %p1
  store volatile <4 x i32> %v2, ptr addrspace(1) %p2
  store volatile <4 x i32> %v3, ptr addrspace(1) %p3
  store volatile <4 x i32> %v4, ptr addrspace(1) %p4
  store volatile <4 x i32> %v5, ptr addrspace(1) %p5
  store volatile <4 x i32> %v6, ptr addrspace(1) %p6
  store volatile <4 x i32> %v7, ptr addrspace(1) %p7
  store volatile <4 x i32> %v8, ptr addrspace(1) %p8
  store volatile <4 x i32> %v9, ptr addrspace(1) %p9
  br label %multiply

multiply:
  call void asm sideeffect "wgmma.fence.sync.aligned;", "~{memory}"()
  %r = call { float, float, float, float } asm sideeffect "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0,$1,$2,$3}, {$4,$5,$6,$7}, $8, 1, 1, 1, 0;", "=f,=f,=f,=f,r,r,r,r,l,0,1,2,3"(i32 %a0, i32 %a1, i32 %a2, i32 %a3, i64 %b, float 0.0, float 0.0, float 0.0, float 0.0)
  call void asm sideeffect "wgmma.commit_group.sync.aligned;", "~{memory}"()
  call void asm sideeffect "wgmma.wait_group.sync.aligned 0;", "~{memory}"()
  %r0 = extractvalue { float, float, float, float } %r, 0
  store float %r0, ptr addrspace(1) %o0
  %r1 = extractvalue { float, float, float, float } %r, 1
  store float %r1, ptr addrspace(1) %o1
  %r2 = extractvalue { float, float, float, float } %r, 2
  store float %r2, ptr addrspace(1) %o2
  %r3 = extractvalue { float, float, float, float } %r, 3
  store float %r3, ptr addrspace(1) %o3
  store i32 %x, ptr addrspace(1) %in
  ret void
}
