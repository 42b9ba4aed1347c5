; Debug values of deleted definitions become undefined; those of others stay.

; RUN: split-file %s %t
; RUN: %edited-mir DELETED oriel-ssa
; RUN: %edited-mir LATE oriel-late
; RUN: %edited-mir REPLACED oriel-ssa
; RUN: %edited PTX
; RUN: %refused USED

; DELETED-NOT: MULT32rr
; DELETED: DBG_VALUE $noreg, $noreg, ![[PRODUCT:[0-9]+]], !DIExpression()
; DELETED: [[SUM:%[0-9]+]]:b32 = ADD32rr
; DELETED: DBG_VALUE [[SUM]], $noreg, !{{[0-9]+}}, !DIExpression()
; DELETED: DBG_VALUE_LIST !{{[0-9]+}}, !DIExpression({{.*}}), $noreg, $noreg

; LATE-NOT: MULT32rr
; LATE: DBG_VALUE $noreg, $noreg, !{{[0-9]+}}, !DIExpression()
; LATE: [[SUM:%[0-9]+]]:b32 = ADD32rr
; LATE: DBG_VALUE [[SUM]], $noreg,

; A debug value follows a register that is replaced.
; REPLACED: [[SUM:%[0-9]+]]:b32 = ADD32rr
; REPLACED: DBG_VALUE [[SUM]], $noreg, !{{[0-9]+}}, !DIExpression()
; REPLACED: DBG_VALUE [[SUM]], $noreg, !{{[0-9]+}}, !DIExpression()

; PTX: .loc 1 3
; PTX: add.s32
; PTX: .loc 1 4
; PTX-NEXT: st.volatile

; Debug values do not keep a definition alive, and other uses still need it.
; USED: malformed plan: register {{[0-9]+}} is used, but nothing defines it

;--- DELETED.edit
function k ssa
delete ST_i32#0
delete MULT32rr#0
;--- LATE.edit
function k late
delete ST_i32#0
delete MULT32rr#0
;--- REPLACED.edit
function k ssa
delete ST_i32#0
delete MULT32rr#0
move DBG_VALUE#0 after ADD32rr#0
replace MULT32rr#0.0 with ADD32rr#0.0
;--- PTX.edit
function k ssa
delete ST_i32#0
delete MULT32rr#0
;--- USED.edit
function k ssa
delete MULT32rr#0
;--- kernel.ll
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a, i32 %b) !dbg !5 {
  %product = mul i32 %a, %b, !dbg !10
    #dbg_value(i32 %product, !8, !DIExpression(), !10)
  %sum = add i32 %a, %b, !dbg !11
    #dbg_value(i32 %sum, !9, !DIExpression(), !11)
    #dbg_value(!DIArgList(i32 %product, i32 %sum), !9, !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus, DW_OP_stack_value), !11)
  store volatile i32 %product, ptr addrspace(1) %p, !dbg !12
  store volatile i32 %sum, ptr addrspace(1) %p, !dbg !12
  ret void, !dbg !13
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3, !4}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "", isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "k.cu", directory: ".")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 2, !"Dwarf Version", i32 2}
!5 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 1, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0, retainedNodes: !7)
!6 = !DISubroutineType(types: !{null})
!7 = !{!8, !9}
!8 = !DILocalVariable(name: "product", scope: !5, file: !1, line: 2, type: !14)
!9 = !DILocalVariable(name: "sum", scope: !5, file: !1, line: 3, type: !14)
!10 = !DILocation(line: 2, column: 3, scope: !5)
!11 = !DILocation(line: 3, column: 3, scope: !5)
!12 = !DILocation(line: 4, column: 3, scope: !5)
!13 = !DILocation(line: 5, column: 3, scope: !5)
!14 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
