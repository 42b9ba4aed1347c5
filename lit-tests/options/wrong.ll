; Wrong names and values are errors that say what is allowed, on the command line and in the environment.

; RUN: not %llc -oriel=fast %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=MODE
; RUN: env ORIEL_FLAGS=-oriel=fast not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=MODE
; MODE: 'fast' is not allowed; allowed are: off, analyze, optimize

; RUN: not %llc -oriel-phases=GeneralOptimise %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PHASES
; RUN: env ORIEL_FLAGS=-oriel-phases=GeneralOptimise not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PHASES
; RUN: not %llc -oriel-disable-phases=GeneralOptimise %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PHASES
; RUN: not %llc -oriel-print-after=GeneralOptimise %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PHASES
; RUN: not %llc -oriel-print-before=AnalyzeControlFlow,GeneralOptimise %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PHASES
; PHASES: 'GeneralOptimise' is no phase; phases are: AnalyzeControlFlow, RemoveUnreachableBlocks, SetControlFlowOpLastInBB, MergeBasicBlocks, EarlyOriSimpleLiveDead, GeneralOptimizeEarly, OriPerformLiveDeadFirst, LoopMakeSingleEntry, OriSplitLiveRanges, GeneralOptimize, OriPerformLiveDeadSecond, GeneralOptimizeMid, GeneralOptimizeMid2, GvnCse, OriReassociateAndCommon, OriPeephole, OriCommonConstants, SpeculativeHoistCommonInsts, GeneralOptimizeLate, OriPerformLiveDeadThird, LateOriCommoning, OriCopyPropSsa, GeneralOptimizeLate2, Rematerialize, AdvancedPhaseBackPropVReg, OriBackCopyPropagate, OriPerformLiveDeadFourth, OriCopyPropLate, SetAfterLegalization, ScheduleForPressure, ReorderInstructions, OptimizeHotColdInLoop, OptimizeHotColdFlow, PlaceBlocksInSourceOrder, OriSplitHighPressureLiveRanges{{$}}

; RUN: not %llc -oriel-phases=MergeBasicBlocks@early %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=STAGE
; STAGE: 'early' is no stage; allowed are: ssa, late

; RUN: not %lab-llc -oriel-inject-fault=rain %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=FAULT
; RUN: not %lab-llc -oriel-inject-fault=mutated-plan:x %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=FAULT
; FAULT: is not allowed; allowed are: panic, malformed-plan, failed-verification, mutated-plan:SEED, wrong-interval

; RUN: not %llc -oriel-report= %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPORT
; RUN: env ORIEL_FLAGS=-oriel-report not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=REPORT
; REPORT: {{a file name or - is missing|requires a value}}

; RUN: not %llc -oriel-snapshot=%t.missing %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=SNAPSHOT
; RUN: not %llc -oriel-dot=%t.missing %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=SNAPSHOT
; SNAPSHOT: is no directory

; RUN: not %llc -oriel-verify=1 %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=SWITCH
; RUN: env ORIEL_FLAGS=-oriel-verify=1 not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=SWITCH
; SWITCH: {{does not allow a value|does not accept a value}}

; RUN: not %lab-llc -oriel-edit=%t.missing %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=EDIT
; EDIT: No such file or directory

; RUN: env ORIEL_FLAGS=-oriel-speed=11 not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=NAME
; RUN: env ORIEL_FLAGS=analyze not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=WORD
; RUN: env "ORIEL_FLAGS='-oriel=off" not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=QUOTES
; NAME: error: oriel: ORIEL_FLAGS: unknown option '-oriel-speed'; allowed are: -oriel, -oriel-disable-phases, -oriel-dont-merge-basicblocks, -oriel-dot, -oriel-enable-phases, -oriel-knob, -oriel-least-pressure, -oriel-loop-strength-reduction, -oriel-maxnreg, -oriel-min-blocks, -oriel-nounroll, -oriel-phases, -oriel-print-after, -oriel-print-after-all, -oriel-print-before, -oriel-profile, -oriel-recursive-rpo, -oriel-register-budget, -oriel-report, -oriel-report-html, -oriel-snapshot, -oriel-spill-to-shared, -oriel-tuned, -oriel-validate, -oriel-verify, -oriel-warn-launch-bounds, -oriel-warn-uninitialized, -oriel-warn-unread-stores
; WORD: error: oriel: ORIEL_FLAGS: 'analyze' is not an option; options look like -oriel-report=FILE
; QUOTES: error: oriel: ORIEL_FLAGS: unbalanced quotes

; RUN: not %llc -oriel-report=/nonexistent/report %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
; UNWRITABLE: error: oriel: the report /nonexistent/report cannot be written:
; UNWRITABLE-NOT: {{^}}error

; RUN: %python -c "import subprocess, sys; sys.exit(subprocess.call([a.encode().replace(b'NAME', b'\xff') for a in sys.argv[1:]]))" \
; RUN:   not %llc -oriel-report=%t.NAME %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=BYTES
; BYTES: -oriel-report option: the value is not UTF-8

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
