; Stack objects that nothing uses any more leave the function, and with the last one its stack. An object that is used, or that is
; not there, stays, and so does all else. What debuggers know of it is undefined.

; RUN: split-file %s %t
; RUN: %edited GONE
; RUN: %edited ONE
; RUN: %edited-mir DEBUG oriel-ssa
; RUN: %refused USED
; RUN: %refused UNKNOWN
; RUN: %refused TWICE

; GONE-LABEL: .entry k(
; GONE-NOT: local
; GONE: ret;

; ONE-LABEL: .entry k(
; ONE: .local .align 8 .b8 {{.*}}__local_depot0[8];
; ONE: ret;

; DEBUG: stack:
; DEBUG-NOT: debug-info-variable: '!
; DEBUG: body:
; DEBUG-NOT: %stack.1

; USED: at stage ssa {{.*}}: malformed plan: instruction {{[0-9]+}} uses a removed frame object
; UNKNOWN: at stage ssa {{.*}}: malformed plan: the removed frame objects are out of order at 0
; TWICE: at stage ssa {{.*}}: malformed plan: the removed frame objects are out of order at 1

;--- GONE.edit
function k ssa
delete ST_i32#0
delete ST_i32#1
delete cvta_to_local_64#0
delete LEA_ADDRi64#0
delete cvta_to_local_64#1
delete LEA_ADDRi64#1
remove-object 0
remove-object 1
;--- ONE.edit
function k ssa
delete ST_i32#1
delete cvta_to_local_64#1
delete LEA_ADDRi64#1
remove-object 1
;--- DEBUG.edit
function k ssa
delete ST_i32#1
delete cvta_to_local_64#1
delete LEA_ADDRi64#1
remove-object 1
;--- USED.edit
function k ssa
delete ST_i32#1
remove-object 1
;--- UNKNOWN.edit
function k ssa
remove-object 2
;--- TWICE.edit
function k ssa
delete ST_i32#1
delete cvta_to_local_64#1
delete LEA_ADDRi64#1
remove-object 1
remove-object 1
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(i32 %a) !dbg !5 {
  %one = alloca i64, align 8
  %other = alloca i64, align 8
    #dbg_declare(ptr %other, !8, !DIExpression(), !9)
  store volatile i32 %a, ptr %one, !dbg !9
  store volatile i32 %a, ptr %other, !dbg !9
  ret void, !dbg !9
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3, !4}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, producer: "test", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "k.c", directory: ".")
!2 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 2, !"Dwarf Version", i32 4}
!5 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 1, type: !6, unit: !0, retainedNodes: !7)
!6 = !DISubroutineType(types: !{null, !2})
!7 = !{}
!8 = !DILocalVariable(name: "other", scope: !5, file: !1, line: 2, type: !2)
!9 = !DILocation(line: 2, column: 1, scope: !5)
