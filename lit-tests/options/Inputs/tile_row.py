"""A loop that walks through five arrays and reads a row of a tile in shared memory, as the front end has unrolled it: prints LLVM IR."""

ARRAYS, ROW = "abcde", 64

print("""target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [4096 x float] undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()""")
print(f"define ptx_kernel void @row_of_a_tile({', '.join(f'ptr %{name}' for name in ARRAYS)}, i32 %n) {{\nentry:")
for name in ARRAYS:
    print(f"  %{name}g = addrspacecast ptr %{name} to ptr addrspace(1)")
print("""  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %start = zext i32 %tid to i64
  %count = zext i32 %n to i64
  %row = getelementptr float, ptr addrspace(3) @tile, i64 %start
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = add i64 %i, %start""")
for name in ARRAYS:
    print(f"  %p{name} = getelementptr float, ptr addrspace(1) %{name}g, i64 %at")
print("  %s0 = load volatile float, ptr addrspace(1) %pa")
for place in range(ROW):
    print(f"  %r{place} = getelementptr float, ptr addrspace(3) %row, i64 {place}")
    print(f"  %v{place} = load volatile float, ptr addrspace(3) %r{place}")
    print(f"  %s{place + 1} = fadd float %s{place}, %v{place}")
for name in ARRAYS[1:]:
    print(f"  store volatile float %s{ROW}, ptr addrspace(1) %p{name}")
print("""  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %exit
exit:
  ret void
}""")
