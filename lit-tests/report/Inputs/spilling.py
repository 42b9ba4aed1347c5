"""Prints two kernels that need more registers than there are, one with a least number of blocks."""

VALUES = 600

print('target triple = "nvptx64-nvidia-cuda"')
for name, attributes in ("spills_without_blocks", ""), ("spills_with_blocks", ' "nvvm.minctasm"="1"'):
    print(f'define ptx_kernel void @{name}(ptr addrspace(1) %p, i32 %n) "nvvm.maxntid"="256"{attributes} {{')
    print("entry:")
    for value in range(VALUES):
        print(f"  %a{value} = getelementptr float, ptr addrspace(1) %p, i64 {1024 * value}")
        print(f"  %v{value} = load float, ptr addrspace(1) %a{value}")
    print("  br label %loop\nloop:")
    print("  %i = phi i32 [ 0, %entry ], [ %next, %loop ]")
    for value in range(VALUES):
        print(f"  %w{value} = phi float [ %v{value}, %entry ], [ %s{value}, %loop ]")
    for value in range(VALUES):
        one, other = (7 * value + 3) % VALUES, (5 * value + 1) % VALUES
        print(f"  %m{value} = fmul float %w{value}, %w{one}")
        print(f"  %s{value} = fadd float %m{value}, %w{other}")
    print("  %next = add i32 %i, 1\n  %again = icmp ne i32 %next, %n\n  br i1 %again, label %loop, label %done\ndone:")
    for value in range(VALUES):
        print(f"  store float %s{value}, ptr addrspace(1) %a{value}")
    print("  ret void\n}")
