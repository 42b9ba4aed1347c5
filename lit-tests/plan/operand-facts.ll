; What LLVM knew of an integer operation and its operands (nsw, disjoint) is dropped where something else comes into its place.

; RUN: %llc-plain -stop-before=phi-node-elimination %s -o - | FileCheck %s --check-prefix=PLAIN
; RUN: %llc -oriel-phases=OriPeephole -verify-machineinstrs -stop-before=phi-node-elimination %s -o - | FileCheck %s

; PLAIN: body:
; PLAIN: disjoint OR_b32rr
; PLAIN: nsw ADD32rr

; CHECK: body:
; CHECK-NOT: disjoint
; CHECK: = MAD_LO_S32rir
; CHECK-NOT: nsw
; CHECK: = SUB32rr

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  %v = load i32, ptr addrspace(1) %p
  %t = load i32, ptr addrspace(1) %q
  %byte = and i32 %t, 255
  %high = shl nuw nsw i32 %v, 8
  br label %next
next:
  %sum = or disjoint i32 %high, %byte
  store i32 %sum, ptr addrspace(1) %q
  %negated = sub nsw i32 0, %v
  br label %last
last:
  %difference = add nsw i32 %t, %negated
  store i32 %difference, ptr addrspace(1) %p
  ret void
}
