"""Prints a kernel that only calls a function in which many values, of which the first argument is the number, are live at
once. The function comes first, unless the second argument is kernel-first."""

import sys

count = int(sys.argv[1])
callee = ["define internal void @callee(ptr %p) noinline {"]
for number in range(count):
    callee.append(f"  %a{number} = getelementptr i32, ptr %p, i32 {number}")
    callee.append(f"  %v{number} = load volatile i32, ptr %a{number}")
for number in range(count):
    callee.append(f"  store volatile i32 %v{number}, ptr %a{number}")
callee.append("  ret void\n}")
kernel = ["define ptx_kernel void @k(ptr %p) {\n  call void @callee(ptr %p)\n  ret void\n}"]

print('target triple = "nvptx64-nvidia-cuda"')
print("\n".join(kernel + callee if sys.argv[2:] == ["kernel-first"] else callee + kernel))
