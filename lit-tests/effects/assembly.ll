; Inline assembly keeps its registers apart and together: results that are written early and the sources, tied pairs, read-write
; operands, several results, predicates, memory operands, branches. With each phase alone, with all of them, at -O1 to -O3.

; RUN: %python %S/Inputs/same_effects.py "%llc-plain" %plugin %oriel %s
; RUN: %llc %s -o %t.ptx
; RUN: FileCheck %s --input-file=%t.ptx
; RUN: %if ptxas %{ %ptxas %t.ptx %}
; RUN: %llc %s -oriel-phases=OriCopyPropLate -pass-remarks-missed=oriel -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

; What is written is not what is read, but a copy of it before the next round is.
; CHECK-LABEL: .entry early_clobber(
; CHECK: mov.b32 [[P:%r[0-9]+]], [[A:%r[0-9]+]];
; CHECK-NEXT: mov.b32 [[Q:%r[0-9]+]], [[V:%r[0-9]+]];
; CHECK: // early [[V]] reads [[Q]]{{$}}
; CHECK: ret;

; REMARK: stay apart: their values are live at the same time

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @early_clobber(ptr addrspace(1) %o, i32 %n, i32 %a0, i32 %a1) {
entry:
  br label %loop
loop:
  %p0 = phi i32 [ %a0, %entry ], [ %v, %loop ]
  %p1 = phi i32 [ %a1, %entry ], [ %v, %loop ]
  %i = phi i32 [ 0, %entry ], [ %i2, %loop ]
  %v = call i32 asm sideeffect "mov.u32 $0, 5; // early $0 reads $1\0A\09add.u32 $0, $0, $1;", "=&r,r"(i32 %p0)
  %i2 = add i32 %i, 1
  %c = icmp eq i32 %i2, %n
  br i1 %c, label %end, label %loop
end:
  store volatile i32 %p1, ptr addrspace(1) %o
  store volatile i32 %v, ptr addrspace(1) %o
  ret void
}

; Without side effects.
define ptx_kernel void @early_and_pure(ptr addrspace(1) %o, i32 %n, i64 %a0, i64 %a1) {
entry:
  br label %loop
loop:
  %p0 = phi i64 [ %a0, %entry ], [ %v, %loop ]
  %p1 = phi i64 [ %a1, %entry ], [ %p0, %loop ]
  %i = phi i32 [ 0, %entry ], [ %i2, %loop ]
  %v = call i64 asm "mov.u64 $0, 5; // early $0 reads $1 $2\0A\09add.u64 $0, $0, $1; add.u64 $0, $0, $2;", "=&l,l,l"(i64 %p0, i64 %p1)
  %i2 = add i32 %i, 1
  %c = icmp eq i32 %i2, %n
  br i1 %c, label %end, label %loop
end:
  store i64 %p1, ptr addrspace(1) %o
  ret void
}

; Several results, of which one is written early and one is tied.
define ptx_kernel void @several(ptr addrspace(1) %o, i32 %n, i32 %a0, i32 %a1, i32 %a2) {
entry:
  br label %loop
loop:
  %p0 = phi i32 [ %a0, %entry ], [ %v, %loop ]
  %p1 = phi i32 [ %a1, %entry ], [ %w, %loop ]
  %p2 = phi i32 [ %a2, %entry ], [ %v, %loop ]
  %i = phi i32 [ 0, %entry ], [ %i2, %loop ]
  %r = call { i32, i32 } asm sideeffect "mov.u32 $0, 5; // early $0 reads $2 $3\0A\09add.u32 $1, $2, $0; // tied $1 $2\0A\09add.u32 $0, $0, $3;", "=&r,=r,1,r"(i32 %p1, i32 %p0)
  %v = extractvalue { i32, i32 } %r, 0
  %w = extractvalue { i32, i32 } %r, 1
  %i2 = add i32 %i, 1
  %c = icmp eq i32 %i2, %n
  br i1 %c, label %end, label %loop
end:
  %s = add i32 %p2, %w
  store i32 %s, ptr addrspace(1) %o
  ret void
}

; An early result that is tied to one source and apart from the other, which has the same value.
define ptx_kernel void @early_and_tied(ptr addrspace(1) %o, i32 %a, i32 %b) {
  %v = call i32 asm sideeffect "add.u32 $0, $1, 1; // tied $0 $1\0A\09add.u32 $0, $0, $2; // early $0 reads $2", "=&r,0,r"(i32 %a, i32 %a)
  %w = call i32 asm sideeffect "add.u32 $0, $1, 1; // tied $0 $1\0A\09add.u32 $0, $0, $2; // early $0 reads $2", "=&r,0,r"(i32 %v, i32 %a)
  %s = add i32 %w, %v
  store i32 %s, ptr addrspace(1) %o
  ret void
}

; What is read and written, in a chain of copies.
define ptx_kernel void @read_and_written(ptr addrspace(1) %o, i32 %n, float %a, float %x) {
entry:
  br label %loop
loop:
  %f = phi float [ %a, %entry ], [ %g, %loop ]
  %old = phi float [ 0.0, %entry ], [ %f, %loop ]
  %i = phi i32 [ 0, %entry ], [ %i2, %loop ]
  %g = call float asm sideeffect "fma.rn.f32 $0, $2, $2, $1; // tied $0 $1", "=f,0,f"(float %f, float %x)
  %i2 = add i32 %i, 1
  %c = icmp eq i32 %i2, %n
  br i1 %c, label %end, label %loop
end:
  store volatile float %old, ptr addrspace(1) %o
  store volatile float %g, ptr addrspace(1) %o
  ret void
}

; The same assembly twice, with and without side effects, and once where it is not used.
define ptx_kernel void @twice(ptr addrspace(1) %o, i32 %a) {
  %v = call i32 asm sideeffect "mul.lo.u32 $0, $1, 3;", "=r,r"(i32 %a)
  %w = call i32 asm sideeffect "mul.lo.u32 $0, $1, 3;", "=r,r"(i32 %a)
  %unused = call i32 asm sideeffect "mul.lo.u32 $0, $1, 3;", "=r,r"(i32 %a)
  %x = call i32 asm "mul.lo.u32 $0, $1, 7;", "=r,r"(i32 %a)
  %y = call i32 asm "mul.lo.u32 $0, $1, 7;", "=r,r"(i32 %v)
  %s = add i32 %v, %w
  %t = add i32 %x, %y
  %u = xor i32 %s, %t
  store i32 %u, ptr addrspace(1) %o
  ret void
}

; Both ways have the same assembly, convergent or with side effects: neither is computed before the branch, and the branch stays.
define ptx_kernel void @both_ways(ptr addrspace(1) %o, i32 %a, i32 %b) {
entry:
  %c = icmp slt i32 %a, %b
  br i1 %c, label %one, label %other
one:
  %v = call i32 asm sideeffect "activemask.b32 $0;", "=r"() convergent
  %m = mul i32 %v, %a
  br label %end
other:
  %w = call i32 asm sideeffect "activemask.b32 $0;", "=r"() convergent
  %n = mul i32 %w, %a
  br label %end
end:
  %r = phi i32 [ %m, %one ], [ %n, %other ]
  store i32 %r, ptr addrspace(1) %o
  ret void
}

; A memory operand: the object stays in memory, and what is stored stays before it.
define ptx_kernel void @memory_operand(ptr addrspace(1) %o, i32 %a) {
  %slot = alloca i32
  store i32 %a, ptr %slot
  call void asm sideeffect "// reads and writes $0", "=*m,*m,~{memory}"(ptr elementtype(i32) %slot, ptr elementtype(i32) %slot)
  %v = load i32, ptr %slot
  store i32 %v, ptr addrspace(1) %o
  ret void
}

; A carry that goes from one piece of assembly to the next.
define ptx_kernel void @carry(ptr addrspace(1) %o, i32 %a, i32 %b, i32 %c, i32 %d) {
  %low = call i32 asm sideeffect "add.cc.u32 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b)
  %m = mul i32 %a, %d
  %high = call i32 asm sideeffect "addc.u32 $0, $1, $2;", "=r,r,r"(i32 %c, i32 %d)
  %x = xor i32 %low, %high
  %y = add i32 %x, %m
  store i32 %y, ptr addrspace(1) %o
  ret void
}

; Assembly that branches ends a block, and Ori leaves the function alone.
define ptx_kernel void @branches(ptr addrspace(1) %o, i32 %a, i32 %b) {
entry:
  store i32 %a, ptr addrspace(1) %o
  callbr void asm sideeffect "// to ${1:l} if $0", "r,!i"(i32 %a) to label %next [label %away]
next:
  store i32 %b, ptr addrspace(1) %o
  br label %away
away:
  %v = load volatile i32, ptr addrspace(1) %o
  store i32 %v, ptr addrspace(1) %o
  ret void
}

; Assembly that branches, and has a result; it does so between loads.
define ptx_kernel void @outs(ptr addrspace(1) %o, i32 %a, i32 %b, i32 %n) {
entry:
  br label %loop
loop:
  %p0 = phi i32 [ %a, %entry ], [ %v, %next ]
  %p1 = phi i32 [ %b, %entry ], [ %v, %next ]
  %i = phi i32 [ 0, %entry ], [ %i2, %next ]
  %v = callbr i32 asm sideeffect "mov.u32 $0, 5; // early $0 reads $1\0A add.u32 $0, $0, $1; // to ${2:l}", "=&r,r,!i"(i32 %p0) to label %next [label %away]
next:
  %i2 = add i32 %i, 1
  %c = icmp eq i32 %i2, %n
  br i1 %c, label %end, label %loop
away:
  store volatile i32 %p1, ptr addrspace(1) %o
  br label %end
end:
  %r = phi i32 [ %v, %next ], [ %p0, %away ]
  store volatile i32 %r, ptr addrspace(1) %o
  ret void
}

define ptx_kernel void @goto_merge(ptr addrspace(3) %s, ptr addrspace(1) %o, i32 %a) {
entry:
  %x = load i32, ptr addrspace(3) %s
  callbr void asm sideeffect "bar.sync 0; // ${0:l}", "!i"() to label %next [label %away]
next:
  %y = load i32, ptr addrspace(3) %s
  %z = mul i32 %x, %y
  store i32 %z, ptr addrspace(1) %o
  ret void
away:
  %y2 = load i32, ptr addrspace(3) %s
  %z2 = add i32 %x, %y2
  store i32 %z2, ptr addrspace(1) %o
  ret void
}

; Registers of every class, and one that a predicate in the assembly needs.
define ptx_kernel void @preds(ptr addrspace(1) %o, i32 %a, i16 %h, i64 %l, double %d) {
  %c = icmp slt i32 %a, 5
  %r = call { i16, i64, double } asm sideeffect "@$3 mov.b16 $0, $4; mov.b64 $1, $5; add.f64 $2, $6, $6;", "=&h,=l,=d,b,h,l,d,~{memory}"(i1 %c, i16 %h, i64 %l, double %d)
  %x = extractvalue { i16, i64, double } %r, 1
  store i64 %x, ptr addrspace(1) %o
  ret void
}
