; Rotations become funnel shifts where the GPU has them, which is from sm_32 on.

; RUN: %llc-bare -load=%plugin -mcpu=sm_30 -oriel-profile=ptxas -oriel-verify %s -o - | FileCheck %s --check-prefix=OLD
; RUN: %llc-bare -load=%plugin -mcpu=sm_32 -oriel-profile=ptxas -oriel-verify %s -o - | FileCheck %s --check-prefix=NEW

; OLD-NOT: shf
; NEW-LABEL: .entry rotation(
; NEW: shf.l.wrap.b32 {{.*}}, 8;

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @rotation(ptr addrspace(1) %out, i32 %a) {
  %left = shl i32 %a, 8
  %right = lshr i32 %a, 24
  %rotated = or i32 %left, %right
  store i32 %rotated, ptr addrspace(1) %out
  ret void
}
