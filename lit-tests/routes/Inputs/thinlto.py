"""Compiles eight modules by ThinLTO, in one thread and in eight, with the same options, and prints whether the results
are equal, and their kernels and limits.

    thinlto.py FOLDER OPTION ...
"""

import subprocess
import sys
from pathlib import Path

KERNELS = 8


def module(number):
    values = range(30 + 20 * number)
    lines = ['target triple = "nvptx64-nvidia-cuda"', f"define ptx_kernel void @k{number}(ptr addrspace(1) %p) {{"]
    for value in values:
        lines.append(f"  %a{value} = getelementptr i32, ptr addrspace(1) %p, i64 {64 * value}")
        lines.append(f"  %v{value} = load volatile i32, ptr addrspace(1) %a{value}")
    lines += [f"  store volatile i32 %v{value}, ptr addrspace(1) %a{value}" for value in reversed(values)]
    return "\n".join([*lines, "  ret void", "}"])


folder, options = Path(sys.argv[1]), sys.argv[2:]
folder.mkdir(parents=True, exist_ok=True)
files, resolutions = [], []
for number in range(KERNELS):
    file = folder / f"{number}.bc"
    subprocess.run(["opt", "-thinlto-bc", "-", "-o", file], input=module(number), text=True, check=True)
    files.append(file)
    resolutions += ["-r", f"{file},k{number},px"]
results = []
for threads in (1, KERNELS):
    out = folder / f"with-{threads}"
    command = ["llvm-lto2", "run", *files, "-o", out, f"-thinlto-threads={threads}", "-filetype=asm", "-mcpu=sm_80", *resolutions, *options]
    subprocess.run(command, check=True)
    results.append([Path(f"{out}.{number}").read_text() for number in range(1, KERNELS + 1)])
print("equal" if results[0] == results[1] else "different")
print("".join(line + "\n" for text in results[0] for line in text.splitlines() if line.startswith((".visible .entry", ".maxnreg"))))
