; One JSON object a function and stage.

; RUN: %llc -oriel=analyze -oriel-report=%t.json %s -o /dev/null
; RUN: FileCheck %s --input-file=%t.json --match-full-lines
; RUN: %python -c "import json, sys; [json.loads(line) for line in open(sys.argv[1])]" %t.json

; CHECK: {"module":"{{.*}}fields.ll","function":"helper","is_kernel":false,"sm":80,"ptx_version":0,"stage":"ssa","blocks":1,"instructions_in":{{[0-9]+}},"instructions_out":{{[0-9]+}},"registers":{{[0-9]+}},"outcome":"unchanged","export_ns":{{[0-9]+}},"library_ns":{{[0-9]+}},"apply_ns":0,"analysis_ns":0,"oriel_ns":{{[0-9]+}}}
; CHECK-NEXT: {{.*}}"function":"helper"{{.*}}"stage":"late"{{.*}}
; CHECK-NEXT: {{.*}}"function":"k","is_kernel":true,{{.*}}"stage":"ssa","blocks":1,"instructions_in":4,"instructions_out":4,"registers":2,{{.*}}
; CHECK-NEXT: {{.*}}"function":"k","is_kernel":true,{{.*}}"stage":"late"{{.*}}"outcome":"unchanged","peak_pressure_r32":3,"peak_pressure_pred":0,"peak_block":0,"static_shared_bytes":0,"registers_estimate":{{[0-9]+}},"registers_estimate_low":{{[0-9]+}},"registers_estimate_high":{{[0-9]+}},"registers_estimate_reasons":[{{.*}}],"spill_risk_percent":0,"occupancy_threads_per_block":128,"occupancy_blocks_per_sm":16,"occupancy_warps_per_sm":64,"occupancy_max_warps_per_sm":64,"occupancy_limiter":"warps","registers_for_fewer_warps":33,"export_ns":{{.*}}
; CHECK-NOT: {{.+}}

; What the phases counted and how long they took.
; RUN: %llc -oriel-least-pressure=0 -oriel-report=- %s -o /dev/null | FileCheck %s --check-prefix=PHASES --match-full-lines
; PHASES: {"module":"{{.*}}fields.ll","function":"helper","is_kernel":false,"sm":80,"ptx_version":0,"stage":"ssa","hash":"{{[0-9a-f]+}}","blocks":1,"instructions_in":{{[0-9]+}},"instructions_out":{{[0-9]+}},"registers":{{[0-9]+}},"outcome":"unchanged","phases":{{.*}}"GeneralOptimizeMid":{{.*}},"phase_ns":{{.*}},"export_ns":{{[0-9]+}},"library_ns":{{[0-9]+}},"apply_ns":0,"analysis_ns":0,"oriel_ns":{{[0-9]+}}}

; Version, outcome and problem; instructions are counted after a change.
; RUN: %lab-llc -mattr=+ptx86 -oriel-report=- -oriel-edit=%S/Inputs/add.edit %s -o /dev/null | FileCheck %s --check-prefix=EDIT
; EDIT: "function":"k"{{.*}}"ptx_version":86,"stage":"ssa","hash":"{{[0-9a-f]+}}","blocks":1,"instructions_in":4,"instructions_out":5,{{.*}}"outcome":"changed"
; RUN: %lab-llc -oriel-report=- -oriel-inject-fault=malformed-plan %s -o /dev/null 2>/dev/null | FileCheck %s --check-prefix=FAILED
; FAILED: "function":"k"{{.*}}"stage":"ssa"{{.*}}"instructions_in":4,"instructions_out":4,{{.*}}"outcome":"failed","problem":"malformed plan: {{[^"]*}}","export_ns"

target triple = "nvptx64-nvidia-cuda"
define i32 @helper(i32 %a) noinline {
  %r = mul i32 %a, %a
  ret i32 %r
}
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
