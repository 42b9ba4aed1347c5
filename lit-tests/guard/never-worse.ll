; A function that the phases of a profile made worse stays as LLVM made it, and a remark says why. Phases that are named are not judged.

; RUN: %lab-llc -oriel=off %s -o %t.plain
; RUN: %lab-llc -oriel-enable-phases=Worsen -pass-remarks-missed=oriel %s -o %t.kept 2>&1 | FileCheck %s
; RUN: diff %t.plain %t.kept
; RUN: %llc -oriel-least-pressure=0 -pass-remarks-missed=oriel %s -o /dev/null 2>&1 | FileCheck %s --allow-empty --check-prefix=GOOD
; RUN: %lab-llc -oriel-enable-phases=Worsen -oriel-phases=GvnCse -pass-remarks-missed=oriel %s -o /dev/null 2>&1 \
; RUN:   | FileCheck %s --allow-empty --check-prefix=GOOD

; CHECK: remark: {{.*}}: profile: the function stays as it is: weighted instructions {{[0-9.]+}} before, {{[0-9.]+}} after phases
; GOOD-NOT: stays as it is

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @store(ptr addrspace(1) %p, i32 %n) {
  store i32 %n, ptr addrspace(1) %p
  ret void
}
