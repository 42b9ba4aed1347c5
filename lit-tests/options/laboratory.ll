; What only tests need is in the laboratory's plug-in: the one that is installed knows none of it.

; RUN: %llc -help-hidden | FileCheck %s --check-prefix=HELP
; HELP-NOT: {{oriel-(bench|check|edit|inject)}}
; HELP: --oriel=<off|analyze|optimize>
; HELP-NOT: {{oriel-(bench|check|edit|inject)}}

; RUN: not %llc -oriel-bench=3 %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=OPTION
; RUN: env ORIEL_FLAGS=-oriel-bench=3 not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=FLAGS
; RUN: not %llc -oriel-check-control-flow %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=OPTION
; RUN: env ORIEL_FLAGS=-oriel-check-control-flow not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=FLAGS
; RUN: not %llc -oriel-check-intervals %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=OPTION
; RUN: env ORIEL_FLAGS=-oriel-check-intervals not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=FLAGS
; RUN: not %llc -oriel-edit=%s %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=OPTION
; RUN: env ORIEL_FLAGS=-oriel-edit=%s not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=FLAGS
; RUN: not %llc -oriel-inject-fault=panic %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=OPTION
; RUN: env ORIEL_FLAGS=-oriel-inject-fault=panic not %llc %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=FLAGS
; OPTION: Unknown command line argument '-oriel-
; FLAGS: error: oriel: ORIEL_FLAGS: unknown option '-oriel-{{.*}}'; allowed are: -oriel,

; RUN: not %llc -oriel-phases=Rebuild %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PHASE
; RUN: not %llc -oriel-phases=Perturb %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PHASE
; RUN: not %llc -oriel-phases=Worsen %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=PHASE
; PHASE: is no phase; phases are:

; RUN: %lab-llc -help-hidden | FileCheck %s --check-prefix=LABORATORY
; LABORATORY: --oriel-bench=<N>
; LABORATORY: --oriel-check-control-flow
; LABORATORY: --oriel-check-intervals
; LABORATORY: --oriel-edit=<FILE>
; LABORATORY: --oriel-inject-fault=<panic|malformed-plan|failed-verification|mutated-plan:SEED|wrong-interval>

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k() {
  ret void
}
