; Registers that an instruction uses in the background are touched by nothing else until it is done. No operand says
; when that is, so that functions with such an instruction stay as LLVM made them. The multiplications below would
; move above the waits.
; RUN: split-file %s %t
; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 -oriel-profile=ptxas -pass-remarks-missed=oriel %t/wgmma.ll -o %t/wgmma.ptx 2>&1 \
; RUN:   | FileCheck %t/wgmma.ll --check-prefix=REMARK
; RUN: FileCheck %t/wgmma.ll < %t/wgmma.ptx
; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 -oriel-enable-phases=SpeculativeHoistCommonInsts %t/wgmma.ll -o - | FileCheck %t/wgmma.ll
; RUN: %llc -mcpu=sm_100a -mattr=+ptx88 -oriel-profile=ptxas -pass-remarks-missed=oriel %t/tcgen05.ll -o %t/tcgen05.ptx 2>&1 \
; RUN:   | FileCheck %t/tcgen05.ll --check-prefix=REMARK
; RUN: FileCheck %t/tcgen05.ll < %t/tcgen05.ptx
; A function without such an instruction is optimised: its multiplication moves.
; RUN: sed 's/wgmma.mma_async/something.else/' %t/wgmma.ll > %t/other.ll
; RUN: %llc -mcpu=sm_90a -mattr=+ptx86 -oriel-profile=ptxas %t/other.ll -o - | FileCheck %t/wgmma.ll --check-prefix=OTHER

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
