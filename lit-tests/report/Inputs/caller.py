"""Prints a kernel that only calls a function in which many values, of which the argument is the number, are live at once."""

import sys

count = int(sys.argv[1])
print('target triple = "nvptx64-nvidia-cuda"')
print("define internal void @callee(ptr %p) noinline {")
for number in range(count):
    print(f"  %a{number} = getelementptr i32, ptr %p, i32 {number}")
    print(f"  %v{number} = load volatile i32, ptr %a{number}")
for number in range(count):
    print(f"  store volatile i32 %v{number}, ptr %a{number}")
print("  ret void\n}")
print("define ptx_kernel void @k(ptr %p) {\n  call void @callee(ptr %p)\n  ret void\n}")
