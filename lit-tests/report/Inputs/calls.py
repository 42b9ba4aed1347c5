"""Prints kernels that call a function with 60 live values: by address, recursively, and by a name with LLVM's escape. A kernel and a
function have no name."""


def function(name, recursion=""):
    lines = [f"define void {name}(ptr %p, i32 %n) noinline {{"]
    for number in range(60):
        lines.append(f"  %a{number} = getelementptr i32, ptr %p, i32 {number}")
        lines.append(f"  %v{number} = load volatile i32, ptr %a{number}")
    lines.append(recursion)
    lines += [f"  store volatile i32 %v{number}, ptr %a{number}" for number in range(60)]
    print("\n".join(lines) + "\n  ret void\n}")


def kernel(name, call):
    print(f"define ptx_kernel void {name}(ptr %p, i32 %n) {{\n{call}  ret void\n}}")


print('target triple = "nvptx64-nvidia-cuda"')
print("@table = addrspace(1) global [1 x ptr] [ptr @reached]")
kernel("@by_address", "  %f = load ptr, ptr addrspace(1) @table\n  call void %f(ptr %p, i32 %n)\n")
kernel("@recursive", "  call void @itself(ptr %p, i32 %n)\n")
kernel("@unmangled", '  call void @"\\01escaped"(ptr %p, i32 %n)\n')
kernel("@0", "  store i32 %n, ptr %p\n")
function("@reached")
function(
    "@itself",
    "  %m = sub i32 %n, 1\n  %again = icmp sgt i32 %m, 0\n  br i1 %again, label %deeper, label %end\n"
    "deeper:\n  call void @itself(ptr %p, i32 %m)\n  br label %end\nend:",
)
function('@"\\01escaped"')
function("@1")
