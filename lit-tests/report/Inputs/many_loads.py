"""Prints kernels that add up 160 loaded values: with bounds that let ptxas load them all at once, and with others."""

COUNT = 160


def kernel(name, bounds):
    print(f"define ptx_kernel void @{name}(ptr addrspace(1) %p) {bounds} {{")
    print("  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
    print("  %base = getelementptr [1000 x float], ptr addrspace(1) %p, i32 %t")
    print("  %s0 = load float, ptr addrspace(1) %base")
    for number in range(1, COUNT):
        print(f"  %a{number} = getelementptr float, ptr addrspace(1) %base, i32 {number}")
        print(f"  %v{number} = load float, ptr addrspace(1) %a{number}")
        print(f"  %s{number} = fadd float %s{number - 1}, %v{number}")
    print(f"  store float %s{COUNT - 1}, ptr addrspace(1) %base\n  ret void\n}}")


print('target triple = "nvptx64-nvidia-cuda"')
print("declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()")
kernel("blocks", '"nvvm.maxntid"="128" "nvvm.minctasm"="1"')
kernel("threads_alone", '"nvvm.maxntid"="128"')
kernel("blocks_alone", '"nvvm.minctasm"="1"')
kernel("registers", '"nvvm.maxnreg"="255"')
kernel("few_registers", '"nvvm.maxnreg"="32"')
