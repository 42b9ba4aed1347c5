; Exported, rebuilt and imported, every function gives the PTX that it gives without the plug-in.

; RUN: %llc-plain -O1 %s -o %t.plain
; RUN: %llc -O1 -oriel-phases=none -oriel-verify -verify-machineinstrs %s -o %t.ptx 2>&1 | count 0
; RUN: diff %t.plain %t.ptx
; RUN: %llc-plain -O3 %s -o %t.plain
; RUN: %llc -O3 -oriel-phases=none -oriel-verify -verify-machineinstrs %s -o %t.ptx 2>&1 | count 0
; RUN: diff %t.plain %t.ptx
; RUN: %llc -O3 -oriel=analyze %s -o %t.ptx 2>&1 | count 0
; RUN: diff %t.plain %t.ptx

target triple = "nvptx64-nvidia-cuda"
@table = internal addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@shared = internal addrspace(3) global [64 x float] poison
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.trap() noreturn

define internal i32 @device(i32 %a, i64 %b, i128 %c) noinline {
  %t = trunc i64 %b to i32
  %u = trunc i128 %c to i32
  %s = add i32 %a, %t
  %r = mul i32 %s, %u
  ret i32 %r
}

define ptx_kernel void @everything(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n, i128 %wide) {
entry:
  %local = alloca [8 x i32]
  %x = call i32 asm sideeffect "mov.u32 $0, %laneid;", "=r"()
  switch i32 %n, label %other [ i32 0, label %zero
                                i32 1, label %one
                                i32 2, label %two
                                i32 3, label %zero
                                i32 4, label %dead ]
zero:
  %element = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %x
  %c = load i32, ptr addrspace(4) %element
  br label %join
one:
  %slot = getelementptr [8 x i32], ptr %local, i32 0, i32 %x
  store volatile i32 %x, ptr %slot
  %l = load volatile i32, ptr %local
  br label %join
two:
  %d = call i32 @device(i32 %x, i64 7, i128 %wide)
  br label %join
dead:
  call void @llvm.trap()
  unreachable
other:
  %f = load float, ptr addrspace(1) %q
  %place = getelementptr [64 x float], ptr addrspace(3) @shared, i32 0, i32 %x
  store float %f, ptr addrspace(3) %place
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %g = load float, ptr addrspace(3) @shared
  %h = fadd contract float %g, 1.5
  %i = fptosi float %h to i32
  br label %join
join:
  %v = phi i32 [ %c, %zero ], [ %l, %one ], [ %d, %two ], [ %i, %other ]
  %old = atomicrmw add ptr addrspace(1) %p, i32 %v monotonic
  %half = load <2 x half>, ptr addrspace(1) %q
  %double = fadd <2 x half> %half, %half
  store <2 x half> %double, ptr addrspace(1) %q
  %vector = load <4 x i32>, ptr addrspace(1) %p, align 16
  store <4 x i32> %vector, ptr addrspace(1) %q, align 16
  store i128 %wide, ptr addrspace(1) %q, align 16
  ret void
}
