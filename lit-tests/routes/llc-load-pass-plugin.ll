; llc --load-pass-plugin: the options come from the environment.

; RUN: env "ORIEL_FLAGS=-oriel=analyze -oriel-report=-" %llc-bare --load-pass-plugin=%plugin -mcpu=sm_80 %s -o /dev/null | FileCheck %s
; CHECK: "function":"k"{{.*}}"stage":"ssa"
; CHECK: "function":"k"{{.*}}"stage":"late"

; Both ways at once is once.
; RUN: %llc --load-pass-plugin=%plugin -oriel-report=- %s -o /dev/null | FileCheck %s --check-prefix=ONCE
; ONCE-COUNT-2: "function":"k"
; ONCE-NOT: "function":"k"

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p, i32 %a) {
  store i32 %a, ptr addrspace(1) %p
  ret void
}
