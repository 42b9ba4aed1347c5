; A kernel as a simple front end hands it over: it reads in[i] wherever the source
; says so, and LLVM does not see past the join that nothing has been written.
;
;   x = in[i]; out[i] = (x > 0 ? 2 * x : x / 2) + in[i] * in[i]    for i < n

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @activate(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %block, %threads
  %i = add i32 %first, %thread
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %compare, label %done

compare:
  %address = getelementptr float, ptr addrspace(1) %in, i32 %i
  %x = load float, ptr addrspace(1) %address, align 4
  %positive = fcmp ogt float %x, 0.0
  br i1 %positive, label %large, label %small

large:
  %scaled = fmul float %x, 2.0
  br label %join

small:
  %damped = fmul float %x, 5.0e-1
  br label %join

join:
  %value = phi float [ %scaled, %large ], [ %damped, %small ]
  %again = load float, ptr addrspace(1) %address, align 4
  %square = fmul float %again, %again
  %sum = fadd float %value, %square
  %target = getelementptr float, ptr addrspace(1) %out, i32 %i
  store float %sum, ptr addrspace(1) %target, align 4
  br label %done

done:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
