"""Writes a kernel as compilers for tensors unroll a product of matrices: all loads of an iteration, then 16 sums of 32 products each."""

COLUMNS, DEPTH = 16, 32


def main():
    print('target triple = "nvptx64-nvidia-cuda"')
    print("declare float @llvm.fma.f32(float, float, float)")
    print("declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
    print('define ptx_kernel void @product(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) "nvvm.maxntid"="256" {')
    print("entry:\n  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  br label %loop\nloop:")
    print("  %i = phi i32 [ 0, %entry ], [ %next, %loop ]")
    for column in range(COLUMNS):
        print(f"  %s{column} = phi float [ 0.0, %entry ], [ %p{column}.{DEPTH - 1}, %loop ]")
    print("  %next = add i32 %i, 1\n  %row = add i32 %lane, %i")
    print("  %left = getelementptr <4 x float>, ptr addrspace(1) %a, i32 %row\n  %right = getelementptr <4 x float>, ptr addrspace(1) %b, i32 %row")
    for matrix, count in (("left", DEPTH // 4), ("right", DEPTH * COLUMNS // 4)):
        for number in range(count):
            print(f"  %{matrix}.at{number} = getelementptr <4 x float>, ptr addrspace(1) %{matrix}, i32 {1024 * number}")
            print(f"  %{matrix}{number} = load <4 x float>, ptr addrspace(1) %{matrix}.at{number}, align 16, !invariant.load !0")
    for depth in range(DEPTH):
        print(f"  %a{depth} = extractelement <4 x float> %left{depth // 4}, i32 {depth % 4}")
        for column in range(COLUMNS):
            place, before = depth * COLUMNS + column, f"%p{column}.{depth - 1}" if depth else f"%s{column}"
            print(f"  %b{place} = extractelement <4 x float> %right{place // 4}, i32 {place % 4}")
            print(f"  %p{column}.{depth} = call float @llvm.fma.f32(float %a{depth}, float %b{place}, float {before})")
    print("  %isLast = icmp eq i32 %next, 32\n  br i1 %isLast, label %done, label %loop\ndone:")
    for column in range(COLUMNS):
        print(f"  %c{column} = getelementptr float, ptr addrspace(1) %c, i32 {column}\n  store float %p{column}.{DEPTH - 1}, ptr addrspace(1) %c{column}")
    print("  ret void\n}\n!0 = !{}")


main()
