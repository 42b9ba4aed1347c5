"""The script that measures the hook finds a file's kernels and what to compile them with."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

KERNELS = """
import missing
import triton
import triton.language as tl


class Function(missing.autograd.Function):
    pass


@triton.jit
def copy(to, at, M):
    tl.store(to + at, tl.load(M + at))


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in missing_sizes()], key=[])
@triton.jit
def rows(A, B, N, M, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    for at in range(0, N, BLOCK):
        copy(A, at + columns, B)
        tl.store(A + at + columns, 0, mask=columns < M)
"""

# As the script does it, in a process with a limit.
FIND = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import compile_triton
for name, function, constants in compile_triton.kernels_of(Path(sys.argv[2])):
    print(name, *compile_triton.signature(function, constants, "*fp16", True))
"""


def test_a_kernel_is_found_beside_classes_of_missing_modules_and_without_its_configurations(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS, encoding="utf-8")
    found = subprocess.run([sys.executable, "-c", FIND, str(SCRIPTS), str(file)], check=True, capture_output=True, text=True, timeout=60)
    # Sizes are integers: only what a load or store begins with, here or in `copy`, is an address.
    kinds = {"A": "*fp16", "B": "*fp16", "N": "i32", "M": "i32", "BLOCK": "constexpr"}
    assert found.stdout == f"rows {kinds} {{'BLOCK': 128}}\n"
