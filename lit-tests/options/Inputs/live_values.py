"""Prints kernels that keep a number of loaded values alive at once: each is divided by their sum."""

import sys

print('target triple = "nvptx64-nvidia-cuda"')
for kernel in sys.argv[1:]:
    name, count, *attributes = kernel.split(",")
    print(f"define ptx_kernel void @{name}(ptr addrspace(1) %p) {' '.join(attributes)} {{")
    total = "0.0"
    for number in range(int(count)):
        print(f"  %address{number} = getelementptr float, ptr addrspace(1) %p, i64 {number}")
        print(f"  %x{number} = load float, ptr addrspace(1) %address{number}")
        print(f"  %sum{number} = fadd float %x{number}, {total}")
        total = f"%sum{number}"
    for number in range(int(count)):
        print(f"  %product{number} = fmul float %x{number}, {total}")
        print(f"  store float %product{number}, ptr addrspace(1) %address{number}")
    print("  ret void\n}")
