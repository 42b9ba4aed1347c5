; LLVM's verifier refuses the address of a parameter as LLVM itself makes it. That a phase computes it again is no
; reason to give up its result.

; RUN: %llc -O2 -oriel-phases=OriSplitHighPressureLiveRanges -oriel-register-budget=1 -oriel-verify %s -o %t.ptx 2>&1 | count 0
; RUN: FileCheck %s < %t.ptx

; CHECK: mov.b64 %[[FIRST:rd[0-9]+]], f_param_0;
; CHECK: ld.local.b32 %{{r[0-9]+}}, [%[[FIRST]]+12];
; CHECK: mov.b64 %[[SECOND:rd[0-9]+]], f_param_0;
; CHECK: st.local.b8 [%[[SECOND]]+5], 1;

target triple = "nvptx64-nvidia-cuda"

%S = type { i32, i8, i16, i64 }

define i32 @f(ptr byval(%S) align 8 %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %far = getelementptr i8, ptr %p, i64 8
  %pair = load <2 x i32>, ptr %far, align 4
  %second = extractelement <2 x i32> %pair, i32 1
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  %near = getelementptr i8, ptr %p, i64 5
  store i8 1, ptr %near, align 1
  ret i32 %second
}
