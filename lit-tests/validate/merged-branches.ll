; Branches that are gone, since both their targets do the same, are proved; so is a select by the condition of a branch that asks two
; comparisons.

; RUN: %llc -oriel-least-pressure=0 -oriel-profile=ptxas %s -oriel-validate=check -oriel-report=%t.json -o %t.ptx 2>&1 \
; RUN:   | FileCheck %s --check-prefix=QUIET --allow-empty
; RUN: FileCheck %s --input-file=%t.json --check-prefix=PROVED
; RUN: FileCheck %s --input-file=%t.ptx
; RUN: %llc -oriel-least-pressure=0 -oriel-phases=GeneralOptimizeMid2 %s -oriel-validate=check -o /dev/null 2>&1 \
; RUN:   | FileCheck %s --check-prefix=QUIET --allow-empty

; QUIET-NOT: warning
; PROVED: "function":"exchanges"{{.*}}"stage":"ssa"{{.*}}"outcome":"changed"{{.*}}"validation":{"is_proved":true}

target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: exchanges(
; CHECK-NOT: bra
; CHECK: atom
; CHECK-NOT: atom
; CHECK: ret
define i32 @exchanges(ptr %p, i32 %a, i1 %c) {
  br i1 %c, label %one, label %other

one:
  %x = atomicrmw add ptr %p, i32 %a acquire
  br label %end

other:
  %y = atomicrmw add ptr %p, i32 %a acquire
  br label %end

end:
  %r = phi i32 [ %x, %one ], [ %y, %other ]
  ret i32 %r
}

; Two of the three targets are merged.
; CHECK-LABEL: three(
; CHECK-COUNT-2: st.volatile.b32
; CHECK-NOT: st.volatile
; CHECK: ret
define void @three(ptr %p, i32 %a, i32 %c) {
  %less = add i32 %c, -1
  %first = icmp ult i32 %less, 2
  br i1 %first, label %one, label %next

next:
  %second = icmp eq i32 %c, 5
  br i1 %second, label %other, label %third

one:
  store volatile i32 %a, ptr %p
  br label %end

other:
  store volatile i32 %a, ptr %p
  br label %end

third:
  store volatile i32 %a, ptr %p
  br label %end

end:
  ret void
}

define i64 @select_of_branch(i32 %a, ptr %p) {
  %not_zero = icmp ne i32 %a, 0
  %not_one = icmp ne i32 %a, 1
  %neither = and i1 %not_zero, %not_one
  %selected = select i1 %neither, i32 0, i32 %a
  br i1 %neither, label %store, label %return

return:
  %small = zext i32 %selected to i64
  ret i64 %small

store:
  %zero = zext i32 %selected to i64
  store i64 %zero, ptr %p, align 8
  ret i64 0
}
