target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@counter = addrspace(1) global i32 100, align 4

define ptx_kernel void @saxpy(i32 %n, float %a, ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = mul i32 %block, %size
  %i = add i32 %first, %thread
  %count = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %done

body:
  %wide = zext i32 %i to i64
  %xi = getelementptr float, ptr addrspace(1) %x, i64 %wide
  %yi = getelementptr float, ptr addrspace(1) %y, i64 %wide
  %xv = load float, ptr addrspace(1) %xi
  %yv = load float, ptr addrspace(1) %yi
  %product = fmul float %a, %xv
  %sum = fadd float %product, %yv
  store float %sum, ptr addrspace(1) %yi
  br label %done

done:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
