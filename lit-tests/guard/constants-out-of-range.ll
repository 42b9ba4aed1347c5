; ptxas refuses some constants where it accepts any value in a register, even in code that is not executed: numbers of barriers,
; counts of threads, positions of bit fields. The values that one instruction stores may not be integers and floats. LLVM
; does not fold the high half of a product, Oriel does.

; RUN: %llc -mattr=+ptx86 -oriel-profile=ptxas -oriel-verify %s -o %t.ptx 2>&1 | count 0
; RUN: FileCheck %s < %t.ptx

; CHECK-LABEL: .entry barriers(
; CHECK: bar.sync %r{{[0-9]+}}, 64;
; CHECK: bar.sync 5, %r{{[0-9]+}};
; CHECK: bar.sync 5, 64;
; CHECK-LABEL: .entry bits(
; CHECK: bfi.b32 %r{{[0-9]+}}, 3, %r{{[0-9]+}}, %r{{[0-9]+}}, 8;
; CHECK-LABEL: .entry values(
; CHECK: st.param.v2.b32 [param0], {%r{{[0-9]+}}, 0f40000000};

target triple = "nvptx64-nvidia-cuda"

%pair = type { float, float }

declare i32 @llvm.nvvm.mulhi.i(i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
declare void @takes(%pair alignstack(8))

define ptx_kernel void @barriers(i32 %n) {
  %twenty = call i32 @llvm.nvvm.mulhi.i(i32 1073741824, i32 80)
  %five = call i32 @llvm.nvvm.mulhi.i(i32 1073741824, i32 20)
  %threads = call i32 @llvm.nvvm.mulhi.i(i32 1073741824, i32 256)
  %never = icmp eq i32 %n, 1234567
  br i1 %never, label %then, label %end
then:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 %twenty, i32 64)
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 %five, i32 %twenty)
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 %five, i32 %threads)
  br label %end
end:
  ret void
}

define ptx_kernel void @bits(<4 x i8> %v, ptr %p, i32 %n) {
  %index = call i32 @llvm.nvvm.mulhi.i(i32 1073741824, i32 160)
  %never = icmp eq i32 %n, 1234567
  br i1 %never, label %then, label %end
then:
  %w = insertelement <4 x i8> %v, i8 3, i32 %index
  store <4 x i8> %w, ptr %p
  br label %end
end:
  ret void
}

define ptx_kernel void @values() {
  %five = call i32 @llvm.nvvm.mulhi.i(i32 1342177280, i32 16)
  %bits = bitcast i32 %five to float
  %first = insertvalue %pair poison, float %bits, 0
  %both = insertvalue %pair %first, float 2.0, 1
  call void @takes(%pair %both)
  ret void
}
