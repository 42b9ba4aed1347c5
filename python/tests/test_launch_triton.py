"""The script that records launches compiles what a program asks a GPU for, where there is none."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

PROGRAM = """
import missing
import pytest
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": size}, num_warps=2) for size in (64, 128, 256)], key=["count"])
@triton.jit
def double(to, of, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(to + at, 2 * tl.load(of + at, mask=at < count), mask=at < count)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_double(dtype):
    of = torch.ones(1000, dtype=dtype, device="cuda")
    assert torch.cuda.is_available() and of.is_cuda and of.device.type == "cuda"
    to = torch.empty_like(of)
    double[lambda chosen: (triton.cdiv(1000, chosen["BLOCK"]),)](to, of, 1000)
    torch.testing.assert_close(to, 2 * of)
"""


def test_the_configurations_of_a_launch_are_recorded(tmp_path):
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    (tmp_path / "doubled.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, SCRIPTS / "launch_triton.py", "--stand-ins", "--most-forms", "3", "--output", tmp_path, tmp_path / "doubled.py"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=300)
    texts = [file.read_text() for file in sorted(tmp_path.glob("doubled.double.*.80.ll"))]
    assert len(texts) == 3 and len(set(texts)) == 3
    assert all('"nvvm.reqntid"="64"' in text and "nvptx64-nvidia-cuda" in text for text in texts)


def test_a_few_cases_of_each_test_are_spread_over_all(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from launch_triton import FewCases

    items = [SimpleNamespace(nodeid=f"file.py::{name}[{case}]") for name, count in (("many", 10), ("few", 2)) for case in range(count)]
    FewCases(most=4, seconds=1).pytest_collection_modifyitems(items)
    assert [item.nodeid for item in items] == ["file.py::many[0]", "file.py::many[3]", "file.py::many[6]", "file.py::many[9]", "file.py::few[0]", "file.py::few[1]"]
