; A product that only the next iteration uses. LLVM's machine passes do not look around the loop; -g changes nothing,
; and remarks have lines.

; RUN: %llc-plain -disable-lsr %s -o %t.plain
; RUN: FileCheck %s --input-file=%t.plain --check-prefix=BEFORE
; RUN: %llc -disable-lsr -oriel-phases=OriPerformLiveDead -oriel-verify -verify-machineinstrs -oriel-report=%t.json %s -o %t.ptx -pass-remarks=oriel -pass-remarks-output=%t.yaml -time-passes 2>%t.errors
; RUN: FileCheck %s --input-file=%t.ptx --check-prefix=AFTER
; RUN: FileCheck %s --input-file=%t.errors --check-prefix=ERRORS
; RUN: FileCheck %s --input-file=%t.errors --check-prefix=TIME
; RUN: FileCheck %s --input-file=%t.yaml --check-prefix=YAML
; RUN: FileCheck %s --input-file=%t.json --check-prefix=REPORT
; RUN: %if ptxas %{ %ptxas %t.ptx %}

; Phases of the ptxas profile; without remarks and with a budget of nothing.
; RUN: %llc -disable-lsr -oriel-profile=ptxas %s -o - | FileCheck %s --check-prefix=AFTER
; RUN: %llc -disable-lsr -oriel-profile=ptxas -oriel-disable-phases=EarlyOriSimpleLiveDead,OriPerformLiveDead %s -o %t.none
; RUN: cmp %t.plain %t.none
; RUN: %llc -disable-lsr -oriel-phases=OriPerformLiveDead -oriel-knob=BevCresbezYvirQrnqOhqtrg=0 %s -o %t.none
; RUN: cmp %t.plain %t.none

; BEFORE: mul.lo
; AFTER: .entry k(
; AFTER-NOT: mul.lo
; AFTER: ret;

; ERRORS: remark: k.cu:3:7: OriPerformLiveDeadFirst: removed IMUL, whose result nothing needs
; TIME: Oriel's phases
; TIME: OriPerformLiveDeadFirst
; YAML: --- !Passed
; YAML-NEXT: Pass: oriel
; YAML-NEXT: Name: DeadInstruction
; YAML-NEXT: DebugLoc: { File: k.cu, Line: 3, Column: 7 }
; YAML-NEXT: Function: k
; REPORT: "stage":"ssa"{{.*}}"outcome":"changed","phases":{"OriPerformLiveDeadFirst":{"removed-instructions":{{[1-9]}}},"OriPerformLiveDeadSecond":{},"OriPerformLiveDeadThird":{}},"phase_ns":{"OriPerformLiveDeadFirst":{{[0-9]+}},

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %n, i32 %m) !dbg !4 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %dead = phi i32 [ 7, %entry ], [ %product, %loop ]
  store volatile i32 %i, ptr addrspace(1) %p, !dbg !7
  %product = mul i32 %dead, %m, !dbg !8
    #dbg_value(i32 %product, !9, !DIExpression(), !8)
  %next = add i32 %i, 1, !dbg !7
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, producer: "test", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "k.cu", directory: "")
!2 = !{i32 2, !"Dwarf Version", i32 2}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !5, unit: !0, retainedNodes: !10)
!5 = !DISubroutineType(types: !6)
!6 = !{null}
!7 = !DILocation(line: 2, column: 3, scope: !4)
!8 = !DILocation(line: 3, column: 7, scope: !4)
!9 = !DILocalVariable(name: "x", scope: !4, file: !1, line: 2, type: !11)
!10 = !{!9}
!11 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
