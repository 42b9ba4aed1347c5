; Pressure, registers and occupancy as analysis remarks, on the terminal and as YAML.

; RUN: %llc -oriel=analyze -pass-remarks-analysis=oriel %s -o /dev/null 2>&1 | FileCheck %s
; RUN: %llc -oriel=analyze -pass-remarks-output=%t.yaml %s -o /dev/null
; RUN: FileCheck %s --check-prefix=YAML --input-file=%t.yaml
; RUN: llvm-remarkutil count --parser=yaml --count-by=remark-name --group-by=function %t.yaml | FileCheck %s --check-prefix=COUNT
; RUN: %llc -oriel=analyze %s -o /dev/null 2>&1 | count 0

; CHECK: remark: {{.*}}peak register pressure: {{[0-9]+}} registers of 32 bits here, 0 predicates
; CHECK: remark: {{.*}}estimated registers for sm_80: {{[0-9]+}} ({{[0-9]+}} to {{[0-9]+}}); launch bounds allow 32, spills are likely to 0 %
; CHECK: remark: {{.*}}64 of 64 warps fit on an SM with blocks of 1024 threads, limited by warps

; YAML: --- !Analysis
; YAML: Pass: {{ *}}oriel
; YAML-NEXT: Name: {{ *}}RegisterPressure
; YAML-NEXT: Function: {{ *}}k
; YAML: - PeakPressureR32: {{ *}}'{{[0-9]+}}'
; YAML: Name: {{ *}}RegisterEstimate
; YAML: - RegistersEstimate: {{ *}}'{{[0-9]+}}'
; YAML: Name: {{ *}}Occupancy
; YAML: - OccupancyWarpsPerSm: {{ *}}'64'
; YAML: - OccupancyLimiter: {{ *}}warps
; COUNT: k,{{[0-9]+}}

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) "nvvm.maxntid"="1024" "nvvm.minctasm"="2" {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
