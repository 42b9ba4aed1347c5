; Loads on both sides of an instruction that Oriel does not know and that has effects: each may let the thread see what others
; wrote, so both loads stay, whatever LLVM's mayLoad and mayStore say. With each phase alone, with all of them, at -O1 to -O3.

; RUN: %python %S/Inputs/same_effects.py "%llc-plain -mcpu=sm_90a -mattr=+ptx86" %plugin %oriel %s
; RUN: %llc -oriel-profile=ptxas -mcpu=sm_90a -mattr=+ptx86 %s -o - | FileCheck %s

; CHECK-LABEL: .entry barrier_as_assembly(
; CHECK: ld.shared
; CHECK: bar.sync 1, 128;
; CHECK: ld.shared
; CHECK: ret;

; CHECK-LABEL: .entry griddepcontrol_wait(
; CHECK: ld.global
; CHECK: griddepcontrol.wait;
; CHECK: ld.global
; CHECK: ret;

; CHECK-LABEL: .entry shuffle(
; CHECK: ld.shared
; CHECK-NOT: ld.shared
; CHECK: ret;

; What LLVM's own intrinsic is known to do may be looked across: it is memory(inaccessiblemem), and GVN does it too.
; ONE-LOAD: shuffle

target triple = "nvptx64-nvidia-cuda"

@flag = internal addrspace(3) global [64 x i32] undef
@mbar = internal addrspace(3) global i64 undef

declare void @llvm.nvvm.griddepcontrol.wait()
declare void @llvm.nvvm.griddepcontrol.launch.dependents()
declare void @llvm.nvvm.cp.async.wait.all()
declare void @llvm.nvvm.cp.async.wait.group(i32 immarg)
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.bulk.wait.group(i32 immarg)
declare void @llvm.nvvm.cp.async.bulk.commit.group()
declare void @llvm.nvvm.cp.async.mbarrier.arrive.shared(ptr addrspace(3))
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
declare i1 @llvm.nvvm.mbarrier.test.wait.scope.cta.space.cta(ptr addrspace(3), i64)
declare i1 @llvm.nvvm.mbarrier.try.wait.scope.cluster.space.cta(ptr addrspace(3), i64)
declare void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3))
declare void @llvm.nvvm.membar.cta()
declare void @llvm.nvvm.membar.sys()
declare void @llvm.nvvm.fence.sc.cluster()
declare void @llvm.nvvm.fence.proxy.tensormap_generic.release.cta()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.barrier.cluster.arrive.aligned()
declare void @llvm.nvvm.barrier.cluster.wait.aligned()
declare void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 immarg)
declare void @llvm.nvvm.nanosleep(i32)
declare void @llvm.nvvm.discard.L2(ptr, i64 immarg)
declare void @llvm.nvvm.prefetch.L2(ptr)
declare { i32, i1 } @llvm.nvvm.elect.sync(i32)
declare void @llvm.nvvm.pm.event.mask(i16 immarg)
declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 immarg)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)

declare i32 @llvm.nvvm.read.ptx.sreg.clock()

define ptx_kernel void @cutlass_cp_async_wait(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void asm sideeffect "cp.async.wait_all;\0A", ""()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @barrier_as_assembly(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void asm sideeffect "bar.sync 1, 128;", ""()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @barrier_as_convergent_assembly(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void asm sideeffect "bar.sync 1, 128;", ""() convergent
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @shuffle_as_assembly(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  %x = call i32 asm sideeffect "shfl.sync.down.b32 $0, $1, 1, 31, -1;", "=r,r"(i32 %n)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, %x
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @vote_as_assembly(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  %x = call i32 asm sideeffect "{ .reg .pred p; setp.ne.u32 p, $1, 0; vote.sync.ballot.b32 $0, p, -1; }", "=r,r"(i32 %n)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, %x
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @fence_as_assembly(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void asm sideeffect "fence.acq_rel.gpu;", ""()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @mbarrier_wait_as_assembly(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  %x = call i32 asm sideeffect "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [$1], 0; selp.u32 $0, 1, 0, p; }", "=r,r"(i32 %n)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, %x
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @elect_as_assembly(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  %x = call i32 asm sideeffect "{ .reg .pred p; elect.sync _|p, -1; selp.u32 $0, 1, 0, p; }", "=r"()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, %x
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @setmaxnreg_as_assembly(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void asm sideeffect "setmaxnreg.inc.sync.aligned.u32 232;", ""()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @nothing_at_all(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void asm sideeffect "", ""()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @griddepcontrol_wait(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %p = getelementptr i32, ptr addrspace(1) %o, i64 64
  %before = load i32, ptr addrspace(1) %p
  call void @llvm.nvvm.griddepcontrol.wait()
  %after = load i32, ptr addrspace(1) %p
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @griddepcontrol_launch(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %p = getelementptr i32, ptr addrspace(1) %o, i64 64
  %before = load i32, ptr addrspace(1) %p
  call void @llvm.nvvm.griddepcontrol.launch.dependents()
  %after = load i32, ptr addrspace(1) %p
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @cp_async_wait_all(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.cp.async.wait.all()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @cp_async_wait_group(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @cp_async_commit_group(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.cp.async.commit.group()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @cp_async_bulk_wait_group(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %p = getelementptr i32, ptr addrspace(1) %o, i64 64
  %before = load i32, ptr addrspace(1) %p
  call void @llvm.nvvm.cp.async.bulk.wait.group(i32 0)
  %after = load i32, ptr addrspace(1) %p
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @cp_async_bulk_commit_group(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.cp.async.bulk.commit.group()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @cp_async_mbarrier(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.cp.async.mbarrier.arrive.shared(ptr addrspace(3) @mbar)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @mbarrier_init(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @mbar, i32 1)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @mbarrier_arrive(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  %x = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @mbar)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %z = trunc i64 %x to i32
  %y = add i32 %change, %z
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @mbarrier_test_wait(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  %x = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @mbar, i64 %l)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %z = zext i1 %x to i32
  %y = add i32 %change, %z
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @mbarrier_test_wait_scope(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  %x = call i1 @llvm.nvvm.mbarrier.test.wait.scope.cta.space.cta(ptr addrspace(3) @mbar, i64 %l)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %z = zext i1 %x to i32
  %y = add i32 %change, %z
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @mbarrier_try_wait_scope(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  %x = call i1 @llvm.nvvm.mbarrier.try.wait.scope.cluster.space.cta(ptr addrspace(3) @mbar, i64 %l)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %z = zext i1 %x to i32
  %y = add i32 %change, %z
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @mbarrier_inval(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) @mbar)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @membar_cta(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.membar.cta()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @membar_sys(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.membar.sys()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @fence_cluster(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.fence.sc.cluster()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @fence_proxy(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.fence.proxy.tensormap_generic.release.cta()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @barrier(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @barrier_warp(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @cluster_arrive(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.barrier.cluster.arrive.aligned()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @cluster_wait(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.barrier.cluster.wait.aligned()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @setmaxnreg(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 232)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @nanosleep(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.nanosleep(i32 7)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @discard(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %p = getelementptr i32, ptr addrspace(1) %o, i64 64
  %before = load i32, ptr addrspace(1) %p
  call void @llvm.nvvm.discard.L2(ptr %g, i64 128)
  %after = load i32, ptr addrspace(1) %p
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @prefetch(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %p = getelementptr i32, ptr addrspace(1) %o, i64 64
  %before = load i32, ptr addrspace(1) %p
  call void @llvm.nvvm.prefetch.L2(ptr %g)
  %after = load i32, ptr addrspace(1) %p
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @elect(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  %x = call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @pm_event(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.pm.event.mask(i16 5)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @wgmma_fence(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @wgmma_wait(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, 0
  store i32 %y, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @shuffle(ptr addrspace(1) %o, ptr %g, i32 %n, i64 %l) {
  %before = load i32, ptr addrspace(3) @flag
  %x = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %n, i32 1, i32 31)
  %after = load i32, ptr addrspace(3) @flag
  %change = mul i32 %after, %before
  %y = add i32 %change, %x
  store i32 %y, ptr addrspace(1) %o
  ret void
}

; Loads of several addresses, in three groups.
define ptx_kernel void @groups(ptr addrspace(1) %o, ptr addrspace(1) %g, i32 %n) {
  %s1 = getelementptr i32, ptr addrspace(3) @flag, i32 %n
  %m = mul i32 %n, %n
  %s2 = getelementptr i32, ptr addrspace(3) @flag, i32 %m
  %g1 = getelementptr i32, ptr addrspace(1) %g, i32 %n
  %v0 = load i32, ptr addrspace(3) %s1
  %v1 = load i32, ptr addrspace(3) %s2
  %v2 = load i32, ptr addrspace(1) %g
  %v3 = load i32, ptr addrspace(1) %g1
  call void asm sideeffect "cp.async.wait_all;", ""()
  %v4 = load i32, ptr addrspace(3) %s1
  %v5 = load i32, ptr addrspace(3) %s2
  %v6 = load i32, ptr addrspace(1) %g
  %v7 = load i32, ptr addrspace(1) %g1
  call void @llvm.nvvm.griddepcontrol.wait()
  %v8 = load i32, ptr addrspace(3) %s1
  %v9 = load i32, ptr addrspace(3) %s2
  %v10 = load i32, ptr addrspace(1) %g
  %v11 = load i32, ptr addrspace(1) %g1
  %a0 = mul i32 %v0, %v1
  %b0 = add i32 %a0, 3
  %a1 = mul i32 %b0, %v2
  %b1 = add i32 %a1, 4
  %a2 = mul i32 %b1, %v3
  %b2 = add i32 %a2, 5
  %a3 = mul i32 %b2, %v4
  %b3 = add i32 %a3, 6
  %a4 = mul i32 %b3, %v5
  %b4 = add i32 %a4, 7
  %a5 = mul i32 %b4, %v6
  %b5 = add i32 %a5, 8
  %a6 = mul i32 %b5, %v7
  %b6 = add i32 %a6, 9
  %a7 = mul i32 %b6, %v8
  %b7 = add i32 %a7, 10
  %a8 = mul i32 %b7, %v9
  %b8 = add i32 %a8, 11
  %a9 = mul i32 %b8, %v10
  %b9 = add i32 %a9, 12
  %a10 = mul i32 %b9, %v11
  %b10 = add i32 %a10, 13
  store i32 %b10, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @timed(ptr addrspace(1) %o, ptr addrspace(1) %g, i32 %n) {
  %s1 = getelementptr i32, ptr addrspace(3) @flag, i32 %n
  %m = mul i32 %n, %n
  %s2 = getelementptr i32, ptr addrspace(3) @flag, i32 %m
  %g1 = getelementptr i32, ptr addrspace(1) %g, i32 %n
  %v0 = load i32, ptr addrspace(3) %s1
  %v1 = load i32, ptr addrspace(3) %s2
  %v2 = load i32, ptr addrspace(1) %g
  %v3 = load i32, ptr addrspace(1) %g1
  %t0 = call i32 @llvm.nvvm.read.ptx.sreg.clock()
  %v4 = load i32, ptr addrspace(3) %s1
  %v5 = load i32, ptr addrspace(3) %s2
  %v6 = load i32, ptr addrspace(1) %g
  %v7 = load i32, ptr addrspace(1) %g1
  %t1 = call i32 @llvm.nvvm.read.ptx.sreg.clock()
  %v8 = load i32, ptr addrspace(3) %s1
  %v9 = load i32, ptr addrspace(3) %s2
  %v10 = load i32, ptr addrspace(1) %g
  %v11 = load i32, ptr addrspace(1) %g1
  %a0 = mul i32 %v0, %v1
  %b0 = add i32 %a0, 3
  %a1 = mul i32 %b0, %v2
  %b1 = add i32 %a1, 4
  %a2 = mul i32 %b1, %v3
  %b2 = add i32 %a2, 5
  %a3 = mul i32 %b2, %v4
  %b3 = add i32 %a3, 6
  %a4 = mul i32 %b3, %v5
  %b4 = add i32 %a4, 7
  %a5 = mul i32 %b4, %v6
  %b5 = add i32 %a5, 8
  %a6 = mul i32 %b5, %v7
  %b6 = add i32 %a6, 9
  %a7 = mul i32 %b6, %v8
  %b7 = add i32 %a7, 10
  %a8 = mul i32 %b7, %v9
  %b8 = add i32 %a8, 11
  %a9 = mul i32 %b8, %v10
  %b9 = add i32 %a9, 12
  %a10 = mul i32 %b9, %v11
  %b10 = add i32 %a10, 13
  %time = sub i32 %t1, %t0
  %sum = add i32 %b10, %time
  store i32 %sum, ptr addrspace(1) %o
  ret void
}
