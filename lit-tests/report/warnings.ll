; Each warning, with its line, on a kernel that has what it is about, and none on its twin that has not.

; RUN: %oriel report --sm 90a %s | FileCheck %s
; RUN: %oriel report --sm 90a --json %s | %python %S/Inputs/list_warnings.py | FileCheck %s --check-prefix=KINDS
; RUN: %llc-bare -load=%plugin -mcpu=sm_90a -oriel=analyze -pass-remarks-analysis=oriel %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
; RUN: %python %S/Inputs/spilling.py > %t.ll
; RUN: %oriel report --sm 80,90 --json %t.ll | %python %S/Inputs/list_warnings.py | FileCheck %s --check-prefix=SPILLS
; RUN: %python %S/Inputs/many_loads.py > %t.loads.ll
; RUN: %oriel report --sm 80 --json %t.loads.ll | %python %S/Inputs/list_warnings.py | FileCheck %s --check-prefix=ALLOTTED
; RUN: %oriel report --sm 80 %t.loads.ll | FileCheck %s --check-prefix=COST

; CHECK: function
; CHECK: warning: setmaxnreg_without_blocks (sm_90) at bb.0 @{{[0-9]+}} {{.*}}, k.cu:11
; CHECK-NEXT: ptxas ignores 1 setmaxnreg: it does not know the registers at entry
; CHECK-NEXT: cost: all warps keep the same number of registers
; CHECK-NEXT: remedy: give the kernel a least number of blocks: __launch_bounds__(256, 1)
; CHECK: warning: wide_counter (sm_90)
; CHECK-NEXT: this counter of 64 bits always fits 32 bits
; CHECK: warning: indexed_array (sm_90)
; CHECK-NEXT: an index that is not constant keeps an array of 64 bytes in local memory
; CHECK-NEXT: cost: 64 bytes of memory a thread, and 3 accesses to it
; CHECK-NEXT: remedy: if a loop counts the index, unroll it completely (#pragma unroll); otherwise use shared memory{{$}}
; CHECK: warning: unrolled (sm_90)
; CHECK-NEXT: ptxas is going to unroll this loop completely and to keep 256 elements of local arrays in registers
; CHECK-NEXT: cost: {{[0-9]+}} other registers are live at the peak, and a thread has 255
; CHECK: warning: not_to_unroll (sm_90)
; CHECK-NEXT: an index that is not constant keeps an array of 1024 bytes in local memory
; CHECK: warning: narrow_counter (sm_90)
; CHECK-NEXT: an index that is not constant keeps an array of 32 bytes in local memory
; CHECK: warning: copied_parameters (sm_90)
; CHECK-NEXT: an index that is not constant keeps a copy of the kernel's parameters of 328 bytes in local memory
; CHECK-NEXT: cost: 328 bytes of memory a thread, and
; CHECK-NEXT: remedy: pass the parameter by reference to the functions that the kernel calls with it, so that there is no copy

; KINDS: setmaxnreg_without_blocks ['setmaxnreg_ignored']
; KINDS-NEXT: setmaxnreg_with_blocks []
; KINDS-NEXT: wide_counter ['wide_index']
; KINDS-NEXT: wide_counter_to_a_parameter []
; KINDS-NEXT: indexed_array ['indexed_local_array']
; KINDS-NEXT: array_that_escapes []
; KINDS-NEXT: unrolled ['unrolled_loop']
; KINDS-NEXT: not_to_unroll ['indexed_local_array']
; KINDS-NEXT: small_array []
; KINDS-NEXT: narrow_counter ['indexed_local_array']
; KINDS-NEXT: not_to_unroll_of_64_bits []
; KINDS-NEXT: selected_array []
; KINDS-NEXT: unread_array []
; KINDS-NEXT: copied_parameters ['indexed_local_array']
; KINDS-NEXT: parameters []

; REMARK: remark: k.cu:11:3: ptxas ignores 1 setmaxnreg{{.*}}; all warps keep the same number of registers; remedy: give

; SPILLS: spills_without_blocks ['launch_bounds_cliff']
; SPILLS-NEXT: spills_with_blocks []
; SPILLS-NEXT: spills_without_blocks ['launch_bounds_cliff']
; SPILLS-NEXT: spills_with_blocks []

; ALLOTTED: blocks ['allotted_registers']
; ALLOTTED-NEXT: threads_alone []
; ALLOTTED-NEXT: blocks_alone []
; ALLOTTED-NEXT: registers ['allotted_registers']
; ALLOTTED-NEXT: few_registers []

; COST: warning: blocks (sm_80)
; COST-NEXT: the launch bounds have a number of blocks, so that ptxas uses up to 255 registers to hide latency
; COST-NEXT: cost: about {{[0-9]+}} registers and {{[0-9]+}} warps instead of {{[0-9]+}} and {{[0-9]+}}
; COST-NEXT: remedy: leave the number of blocks
; COST: warning: registers (sm_80)
; COST: remedy: leave .maxnreg out

target triple = "nvptx64-nvidia-cuda"
declare void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @other(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define ptx_kernel void @setmaxnreg_without_blocks(ptr addrspace(1) %p, i32 %a) "nvvm.maxntid"="256" !dbg !4 {
  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 24), !dbg !6
  store i32 %a, ptr addrspace(1) %p, !dbg !7
  ret void, !dbg !7
}
define ptx_kernel void @setmaxnreg_with_blocks(ptr addrspace(1) %p, i32 %a) "nvvm.maxntid"="256" "nvvm.minctasm"="1" {
  call void @llvm.nvvm.setmaxnreg.dec.sync.aligned.u32(i32 24)
  store i32 %a, ptr addrspace(1) %p
  ret void
}

define ptx_kernel void @wide_counter(ptr addrspace(1) %p) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %value = load volatile i32, ptr addrspace(1) %p
  store volatile i32 %value, ptr addrspace(1) %p
  %next = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %next, 1000
  br i1 %again, label %loop, label %done, !llvm.loop !8
done:
  ret void
}
define ptx_kernel void @wide_counter_to_a_parameter(ptr addrspace(1) %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %value = load volatile i32, ptr addrspace(1) %p
  store volatile i32 %value, ptr addrspace(1) %p
  %next = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %next, %n
  br i1 %again, label %loop, label %done, !llvm.loop !8
done:
  ret void
}

define ptx_kernel void @indexed_array(ptr addrspace(1) %p, i32 %i, i32 %a) {
  %array = alloca [16 x i32]
  %element = getelementptr [16 x i32], ptr %array, i32 0, i32 %i
  store i32 0, ptr %array
  store i32 %a, ptr %element
  %last = getelementptr [16 x i32], ptr %array, i32 0, i32 15
  %value = load i32, ptr %last
  store i32 %value, ptr addrspace(1) %p
  ret void
}
define ptx_kernel void @array_that_escapes(ptr addrspace(1) %p, i32 %i, i32 %a) {
  %array = alloca [16 x i32]
  %element = getelementptr [16 x i32], ptr %array, i32 0, i32 %i
  store i32 %a, ptr %element
  call void @other(ptr %array)
  ret void
}

define ptx_kernel void @unrolled(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias readonly %q) {
entry:
  %array = alloca [256 x float]
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %next, %fill ]
  %from = getelementptr float, ptr addrspace(1) %q, i64 %i
  %value = load float, ptr addrspace(1) %from
  %element = getelementptr [256 x float], ptr %array, i64 0, i64 %i
  store float %value, ptr %element
  %next = add nuw nsw i64 %i, 1
  %again = icmp ne i64 %next, 256
  br i1 %again, label %fill, label %middle
middle:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %drain
drain:
  %j = phi i64 [ 0, %middle ], [ %after, %drain ]
  %other = getelementptr [256 x float], ptr %array, i64 0, i64 %j
  %kept = load float, ptr %other
  %to = getelementptr float, ptr addrspace(1) %p, i64 %j
  store float %kept, ptr addrspace(1) %to
  %after = add nuw nsw i64 %j, 1
  %more = icmp ne i64 %after, 256
  br i1 %more, label %drain, label %done
done:
  ret void
}
define ptx_kernel void @not_to_unroll(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias readonly %q) {
entry:
  %array = alloca [256 x float]
  br label %fill
fill:
  %i = phi i32 [ 0, %entry ], [ %next, %fill ]
  %from = getelementptr float, ptr addrspace(1) %q, i32 %i
  %value = load float, ptr addrspace(1) %from
  %element = getelementptr [256 x float], ptr %array, i32 0, i32 %i
  store float %value, ptr %element
  %next = add nuw nsw i32 %i, 1
  %again = icmp ne i32 %next, 256
  br i1 %again, label %fill, label %middle, !llvm.loop !8
middle:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %drain
drain:
  %j = phi i32 [ 0, %middle ], [ %after, %drain ]
  %other = getelementptr [256 x float], ptr %array, i32 0, i32 %j
  %kept = load float, ptr %other
  %to = getelementptr float, ptr addrspace(1) %p, i32 %j
  store float %kept, ptr addrspace(1) %to
  %after = add nuw nsw i32 %j, 1
  %more = icmp ne i32 %after, 256
  br i1 %more, label %drain, label %done, !llvm.loop !8
done:
  ret void
}
define ptx_kernel void @small_array(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias readonly %q) {
entry:
  %array = alloca [8 x float]
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %next, %fill ]
  %from = getelementptr float, ptr addrspace(1) %q, i64 %i
  %value = load float, ptr addrspace(1) %from
  %element = getelementptr [8 x float], ptr %array, i64 0, i64 %i
  store float %value, ptr %element
  %next = add nuw nsw i64 %i, 1
  %again = icmp ne i64 %next, 8
  br i1 %again, label %fill, label %middle
middle:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %drain
drain:
  %j = phi i64 [ 0, %middle ], [ %after, %drain ]
  %other = getelementptr [8 x float], ptr %array, i64 0, i64 %j
  %kept = load float, ptr %other
  %to = getelementptr float, ptr addrspace(1) %p, i64 %j
  store float %kept, ptr addrspace(1) %to
  %after = add nuw nsw i64 %j, 1
  %more = icmp ne i64 %after, 8
  br i1 %more, label %drain, label %done
done:
  ret void
}
; LLVM counts with 64 bits and compares 32 of them: ptxas leaves the loops.
define ptx_kernel void @narrow_counter(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias readonly %q) {
entry:
  %array = alloca [8 x float]
  br label %fill
fill:
  %i = phi i32 [ 0, %entry ], [ %next, %fill ]
  %from = getelementptr float, ptr addrspace(1) %q, i32 %i
  %value = load float, ptr addrspace(1) %from
  %element = getelementptr [8 x float], ptr %array, i32 0, i32 %i
  store float %value, ptr %element
  %next = add nuw nsw i32 %i, 1
  %again = icmp ne i32 %next, 8
  br i1 %again, label %fill, label %middle
middle:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %drain
drain:
  %j = phi i32 [ 0, %middle ], [ %after, %drain ]
  %other = getelementptr [8 x float], ptr %array, i32 0, i32 %j
  %kept = load float, ptr %other
  %to = getelementptr float, ptr addrspace(1) %p, i32 %j
  store float %kept, ptr addrspace(1) %to
  %after = add nuw nsw i32 %j, 1
  %more = icmp ne i32 %after, 8
  br i1 %more, label %drain, label %done
done:
  ret void
}
; ptxas has no elements of 64 bits in registers.
define ptx_kernel void @not_to_unroll_of_64_bits(ptr addrspace(1) noalias %p, ptr addrspace(1) noalias readonly %q) {
entry:
  %array = alloca [256 x double]
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %next, %fill ]
  %from = getelementptr double, ptr addrspace(1) %q, i64 %i
  %value = load double, ptr addrspace(1) %from
  %element = getelementptr [256 x double], ptr %array, i64 0, i64 %i
  store double %value, ptr %element
  %next = add nuw nsw i64 %i, 1
  %again = icmp ne i64 %next, 256
  br i1 %again, label %fill, label %middle
middle:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %drain
drain:
  %j = phi i64 [ 0, %middle ], [ %after, %drain ]
  %other = getelementptr [256 x double], ptr %array, i64 0, i64 %j
  %kept = load double, ptr %other
  %to = getelementptr double, ptr addrspace(1) %p, i64 %j
  store double %kept, ptr addrspace(1) %to
  %after = add nuw nsw i64 %j, 1
  %more = icmp ne i64 %after, 256
  br i1 %more, label %drain, label %done
done:
  ret void
}
; ptxas selects between the elements.
define ptx_kernel void @selected_array(ptr addrspace(1) %p, i32 %i, i32 %a) {
  %array = alloca [4 x i32]
  %1 = getelementptr [4 x i32], ptr %array, i32 0, i32 1
  %2 = getelementptr [4 x i32], ptr %array, i32 0, i32 2
  %3 = getelementptr [4 x i32], ptr %array, i32 0, i32 3
  %element = getelementptr [4 x i32], ptr %array, i32 0, i32 %i
  store i32 0, ptr %array
  store i32 1, ptr %1
  store i32 2, ptr %2
  store i32 3, ptr %3
  store i32 %a, ptr %element
  %value = load i32, ptr %3
  store i32 %value, ptr addrspace(1) %p
  ret void
}
; -oriel-warn-unread-stores is about it.
define ptx_kernel void @unread_array(ptr addrspace(1) %p, i32 %i, i32 %a) {
  %array = alloca [16 x i32]
  %element = getelementptr [16 x i32], ptr %array, i32 0, i32 %i
  store i32 0, ptr %array
  store i32 %a, ptr %element
  ret void
}
%parameters = type { [40 x ptr], i32, i32 }
define ptx_kernel void @copied_parameters(ptr readonly byval(%parameters) align 8 %given) {
  %copy = alloca %parameters, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %copy, ptr align 8 %given, i64 328, i1 false)
  %at = getelementptr i8, ptr %copy, i64 324
  %index = load i32, ptr %at
  %element = getelementptr ptr, ptr %copy, i32 %index
  %pointer = load ptr, ptr %element
  store i32 0, ptr %pointer
  ret void
}
define ptx_kernel void @parameters(ptr readonly byval(%parameters) align 8 %given) {
  %at = getelementptr i8, ptr %given, i64 324
  %index = load i32, ptr %at
  %element = getelementptr ptr, ptr %given, i32 %index
  %pointer = load ptr, ptr %element
  store i32 0, ptr %pointer
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "k.cu", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "k", file: !1, line: 9, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !{})
!6 = !DILocation(line: 11, column: 3, scope: !4)
!7 = !DILocation(line: 12, column: 3, scope: !4)
!8 = distinct !{!8, !9}
!9 = !{!"llvm.loop.unroll.disable"}
