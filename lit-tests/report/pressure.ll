; Where pressure peaks and which values cause it, with source variables and inlined-at chains.

; RUN: %oriel report --sm 80 --details %s | FileCheck %s
; RUN: %oriel report --sm 80 --json --details %s | FileCheck %s --check-prefix=JSON
; The former name of the option works as well.
; RUN: %oriel report --sm 80 --life-ranges %s | FileCheck %s --check-prefix=RANGES
; RUN: %oriel report --sm 80 --live-ranges %s | FileCheck %s --check-prefix=RANGES
; RUN: rm -rf %t && mkdir %t && %oriel report --sm 80 --dot %t %s
; RUN: FileCheck %s --check-prefix=DOT --input-file=%t/k.late.sm_80.dot

; CHECK: function {{.*}}SM{{ +}}instructions{{ +}}peak r32{{ +}}pred{{ +}}at
; CHECK: k{{ +}}kernel{{ +}}80{{.*}}k.cu:{{[0-9]+}}
; CHECK: k (sm_80)
; CHECK-NEXT: {{[0-9]+}} r32 at bb.{{[0-9]+}} @{{[0-9]+}} {{.*}}, {{/?}}{{.*}}k.cu:{{[0-9]+}}
; CHECK: in sum (1 values)
; CHECK: %{{[0-9]+}}:b32 (scale) {{.*}}unused here
; CHECK: in 0 loops: {{[0-9]+}} r32
; CHECK: in 1 loops: {{[0-9]+}} r32

; JSON: "peaks":[{"file":"r32","units":{{[0-9]+}},"place":{"block":1,{{.*}}"source":[{"file":"k.cu","line":21,"column":0,"function":"get"},{"file":"k.cu","line":4,{{.*}}"block_pressure":[{"block":0,{{.*}}"loop_depths":[{"loop_depth":0,

; RANGES: kernel k stage late sm_80
; RANGES: bb.0:
; RANGES: @{{[0-9]+}} {{.*}}LD_i{{.*}} | {{ *[0-9]+}} | {{.*}}^
; RANGES: FMA_F32rrr{{.*}}| {{.*}}v

; DOT: digraph "k" {
; DOT: bb0 [label="bb.0\n{{[0-9]+}} instructions, depth 0\n{{[0-9]+}} r32, {{[0-9]+}} pred",fillcolor="0.000 {{[01]\.[0-9]+}} 1.000"];
; DOT: bb0 -> bb{{[0-9]+}};

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n, float %scale) !dbg !4 {
entry:
  #dbg_value(float %scale, !12, !DIExpression(), !7)
  br label %loop, !dbg !7
loop:
  %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %sum.next, %loop ]
  %address = getelementptr float, ptr addrspace(1) %p, i32 %i, !dbg !8
  %x = load volatile float, ptr addrspace(1) %address, !dbg !9
  %sum.next = call float @llvm.fma.f32(float %x, float %x, float %sum), !dbg !8
  #dbg_value(float %sum.next, !13, !DIExpression(), !8)
  %i.next = add i32 %i, 1, !dbg !8
  %more = icmp slt i32 %i.next, %n, !dbg !8
  br i1 %more, label %loop, label %exit, !dbg !8
exit:
  %scaled = fmul float %sum.next, %scale, !dbg !10
  store volatile float %scaled, ptr addrspace(1) %p, !dbg !10
  ret void, !dbg !10
}
declare float @llvm.fma.f32(float, float, float)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !2, isOptimized: true, emissionKind: FullDebug)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "k.cu", directory: "/src")
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "k", scope: !2, file: !2, line: 1, type: !3, unit: !0)
!5 = distinct !DISubprogram(name: "get", scope: !2, file: !2, line: 20, type: !3, unit: !0)
!6 = !DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)
!7 = !DILocation(line: 2, scope: !4)
!8 = !DILocation(line: 4, scope: !4)
!9 = !DILocation(line: 21, scope: !5, inlinedAt: !8)
!10 = !DILocation(line: 6, scope: !4)
!12 = !DILocalVariable(name: "scale", arg: 3, scope: !4, file: !2, line: 1, type: !6)
!13 = !DILocalVariable(name: "sum", scope: !4, file: !2, line: 3, type: !6)
