; A snapshot, in Ori.
; RUN: rm -rf %t && mkdir %t
; RUN: %llc -oriel=analyze -oriel-snapshot=%t %s -o /dev/null
; RUN: %oriel ori --verify %t/first.ssa.oriel %t/first.late.oriel > %t/first.ori
; RUN: FileCheck %s --input-file=%t/first.ori
; RUN: %oriel ori --verify %t/first.ori | diff %t/first.ori -
; RUN: %oriel ori --reference-numbers %t/first.ori | FileCheck %s --check-prefix=NUMBERS

; CHECK-LABEL: kernel "first" sm_80 ssa
; CHECK-NEXT: bix0:
; CHECK: [[P:%[0-9]+]]:R64 = LD.{{.*}}param::entry.b64{{.*}} [&first_param_0]
; CHECK: = LD.{{.*}}global{{.*}}b32
; CHECK: RET
; CHECK-LABEL: kernel "first" sm_80 late
; NUMBERS: RET {{.*}}// 72
define ptx_kernel void @first(ptr addrspace(1) %pointer) {
  %value = load i32, ptr addrspace(1) %pointer
  %more = add i32 %value, 1
  store i32 %more, ptr addrspace(1) %pointer
  ret void
}
