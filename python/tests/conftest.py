"""Inputs of tests."""

import pytest

KERNEL = """
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @scale(ptr addrspace(1) %x, float %a, i32 %n) "nvvm.maxntid"="256" {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %inside = icmp slt i32 %tid, %n
  br i1 %inside, label %then, label %end
then:
  %at = getelementptr float, ptr addrspace(1) %x, i32 %tid
  %old = load float, ptr addrspace(1) %at
  %product = fmul float %old, %a
  %new = fadd float %product, %a
  store float %new, ptr addrspace(1) %at
  br label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""


@pytest.fixture
def kernel():
    """A kernel as LLVM IR."""
    return KERNEL


@pytest.fixture
def kernel_file(tmp_path):
    """The same kernel in a file."""
    path = tmp_path / "scale.ll"
    path.write_text(KERNEL, encoding="utf-8")
    return path
