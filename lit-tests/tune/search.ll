; oriel tune: what a judge likes best is found, with the flags that give it.
; RUN: env LLVM_PTXAS_EXECUTABLE=%S/Inputs/ptxas.sh %oriel tune --sm 80 --no-cache %s -o %t.ptx | FileCheck %s --match-full-lines
; CHECK:      sm_80, goal registers, judged by ptxas 1.2.3: {{[0-9]+}} variants, {{[0-9]+}} different
; CHECK-NEXT: function{{ +}}registers{{ +}}spilled bytes{{ +}}bytes of SASS{{ +}}warps
; CHECK-NEXT: k{{ +}}20 -> 18{{ +}}8 {{.*}}
; CHECK-NEXT: flags: -oriel-knob=InstructionOrder=1 -oriel-enable-phases=ReorderInstructions
; CHECK-NOT:  {{.}}

; The PTX is that of the flags.
; RUN: FileCheck %s --check-prefix=PTX --input-file=%t.ptx
; RUN: %llc -oriel-knob=InstructionOrder=1 -oriel-enable-phases=ReorderInstructions %s -o - | diff - %t.ptx
; PTX:      ld.global
; PTX-NEXT: add.s32
; PTX-NEXT: ld.global

; What the options given leave out stays so; then an order of LLVM's does it, if Oriel's options are not to be alone.
; RUN: env LLVM_PTXAS_EXECUTABLE=%S/Inputs/ptxas.sh %oriel tune --sm 80 --no-cache --oriel "-oriel-disable-phases=ReorderInstructions" %s -o %t.llvm.ptx | FileCheck %s --check-prefix=LLVM
; RUN: env LLVM_PTXAS_EXECUTABLE=%S/Inputs/ptxas.sh %oriel tune --sm 80 --no-cache --oriel "-oriel-disable-phases=ReorderInstructions" --oriel-only %s | FileCheck %s --check-prefix=NOTHING
; RUN: %llc -pre-RA-sched=list-burr %s -o - | diff - %t.llvm.ptx
; LLVM: k{{ +}}20 -> 18
; LLVM-NEXT: {{^}}llvm: -pre-RA-sched=list-burr
; LLVM-NOT: {{.}}

; Limits are tried if they are asked for.
; RUN: env LLVM_PTXAS_EXECUTABLE=%S/Inputs/ptxas.sh %oriel tune --sm 80 --no-cache --limits %s | FileCheck %s --check-prefix=LIMITS
; LIMITS: k{{ +}}20 -> 16
; LIMITS-NEXT: {{^}}flags: -oriel-maxnreg=16{{$}}
; LIMITS-NOT: {{.}}

; What ptxas refuses is left out, and said.
; RUN: env REFUSE=1 LLVM_PTXAS_EXECUTABLE=%S/Inputs/ptxas.sh %oriel tune --sm 80 --no-cache %s | FileCheck %s --check-prefix=REFUSED
; REFUSED: variants failed; the first: ptxas: ptxas fatal   : no sums today
; REFUSED: nothing is better than the options given

; NOTHING: nothing is better than the options given

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr addrspace(1) %p) {
  %q = getelementptr i32, ptr addrspace(1) %p, i32 1
  %x = load i32, ptr addrspace(1) %p
  %y = load i32, ptr addrspace(1) %q
  %x.1 = add i32 %x, 5
  %y.1 = add i32 %y, 7
  %product = mul i32 %x.1, %y.1
  store i32 %product, ptr addrspace(1) %p
  ret void
}
