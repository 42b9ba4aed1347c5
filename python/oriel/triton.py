"""Triton's kernels through Oriel.

    with oriel.triton.report() as kernels:      # Triton compiles as ever, and Oriel reports
        kernel[grid](...)
    print(kernels["kernel"])

    oriel.triton.install(profile="max")         # PTX comes from LLVM 22 with Oriel instead of Triton's LLVM
    oriel.triton.uninstall()

Works with Triton 3.5 to 3.7, with or without a GPU: `triton.compile` with a target of its own needs none. What newer versions
write is often LLVM IR that LLVM 22 cannot read; then Triton compiles by itself, and a warning says why.

Stages of the backend for NVIDIA are replaced, as there is no hook that all these versions have and that is part of the key of
Triton's cache. A kernel that this process has launched before is in Triton's memory, and is not compiled again.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

import oriel

__all__ = ["Kernel", "Kernels", "install", "report", "uninstall"]


class Kernel(NamedTuple):
    """A kernel that Triton has compiled."""

    name: str
    #: Such as "sm_90a".
    target: str
    report: oriel.Report
    #: What ptxas got.
    ptx: str
    #: Did Oriel make it?
    is_oriels: bool


class Kernels(list[Kernel]):
    """The kernels that were compiled, in order; by name the last one of it."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for kernel in reversed(self):
            if kernel.name == key:
                return kernel
        raise KeyError(key)

    def _repr_html_(self) -> str:
        return "\n".join(f"<h4>{kernel.name}, {kernel.target}</h4>{kernel.report._repr_html_()}" for kernel in self)


class _Installed(NamedTuple):
    """How Oriel compiles instead of Triton."""

    profile: Literal["ptxas", "max"]
    flags: str
    strict: bool


_installed: _Installed | None = None

#: Who collects kernels, and whether with ptxas' figures.
_collectors: list[tuple[Kernels, bool]] = []


def _backend() -> Any:
    """Triton's backend for NVIDIA, with our way into its stages."""
    try:
        from triton.backends.nvidia import compiler
    except ImportError as error:
        raise oriel.Error(f"Triton is not here, or has no backend for NVIDIA ({error}): pip install triton==3.6.0") from error
    if hasattr(compiler.CUDABackend.add_stages, "__wrapped__"):
        return compiler
    add_stages, key = compiler.CUDABackend.add_stages, compiler.CUDABackend.hash

    @functools.wraps(add_stages)
    def add_changed_stages(self: Any, stages: dict[str, Any], options: Any, *rest: Any) -> None:
        add_stages(self, stages, options, *rest)
        stages["ptx"] = functools.partial(_make_ptx, compiler, self.target.arch, options, stages["ptx"])

    @functools.wraps(key)
    def changed_key(self: Any) -> str:
        return key(self) if _installed is None else f"{key(self)}-oriel {oriel.__version__} {_installed}"

    compiler.CUDABackend.add_stages, compiler.CUDABackend.hash = add_changed_stages, changed_key
    return compiler


def _make_ptx(compiler: Any, capability: int, options: Any, by_triton: Callable[[str, dict[str, Any]], str], llvm_ir: str,
              metadata: dict[str, Any]) -> str:
    """Triton's stage from LLVM IR to PTX."""
    ptx, found = None, None
    target = compiler.sm_arch_from_capability(capability)
    # The kernel is what is not internal.
    match = re.search(r"^define (?!internal)[^@]*@\"?([\w.$]+)", llvm_ir, re.MULTILINE)
    name = match.group(1) if match else "kernel"
    ptxas = any(wanted for _, wanted in _collectors)
    try:
        if _installed is not None:
            features = re.search(r"\+ptx(\d+)", compiler.get_features(options, capability))
            compiled = oriel.compile(llvm_ir, target, profile=_installed.profile, flags=_installed.flags, level=3,
                                     ptx_version=int(features.group(1)) if features else None,
                                     fp_fusion=options.enable_fp_fusion, ptxas=ptxas, name=f"{name}.llir")
            # As Triton does behind its own code generation.
            metadata["name"] = name
            version = compiler.get_ptx_version_from_options(options, capability)
            ptx = re.sub(r"\.version \d+\.\d+", f".version {version // 10}.{version % 10}", compiled.ptx)
            ptx = re.sub(r",\s*debug|debug,\s*", "", ptx)
            found = compiled.report
        elif _collectors:
            found = oriel.report(llvm_ir, target, ptxas=ptxas, name=f"{name}.llir")
    except oriel.Error as error:
        import triton
        reason = f"Oriel {oriel.__version__} cannot compile what Triton {triton.__version__} writes for {name}: {error}"
        if _installed is not None and _installed.strict:
            raise oriel.Error(reason) from error
        warnings.warn(f"{reason}\nTriton compiles it by itself", RuntimeWarning, stacklevel=2)
    is_oriels = ptx is not None
    if ptx is None:
        ptx = by_triton(llvm_ir, metadata)
    if found is not None:
        for kernels, _ in _collectors:
            kernels.append(Kernel(name, target, found, ptx, is_oriels))
    return ptx


def install(profile: Literal["ptxas", "max"] = "max", *, flags: str = "", strict: bool = False) -> None:
    """From here on Oriel compiles Triton's LLVM IR to PTX, by a profile and with further options as in ORIEL_FLAGS.

    Where it cannot, Triton compiles by itself and a warning says why; with `strict` that is an `oriel.Error`.
    """
    global _installed
    _backend()
    _installed = _Installed(profile, flags, strict)


def uninstall() -> None:
    """From here on Triton compiles by itself again. Reports go on."""
    global _installed
    _installed = None


@contextlib.contextmanager
def report(*, ptxas: bool = False) -> Iterator[Kernels]:
    """Collects a report on every kernel that Triton compiles meanwhile, also on those that are in its cache on disk.

    Of kernels that Oriel compiles the report is on the code that ptxas gets, of others on what LLVM 22 makes of Triton's IR.
    With `ptxas` it has the figures of ptxas, which is Triton's if there is no other.
    """
    _backend()
    from triton import knobs

    if ptxas and not shutil.which(os.environ.get("LLVM_PTXAS_EXECUTABLE", "ptxas")):
        os.environ["LLVM_PTXAS_EXECUTABLE"] = knobs.nvidia.ptxas.path
    kernels = Kernels()
    collector = (kernels, ptxas)
    before = knobs.compilation.always_compile
    _collectors.append(collector)
    knobs.compilation.always_compile = True
    try:
        yield kernels
    finally:
        knobs.compilation.always_compile = before
        _collectors[:] = [it for it in _collectors if it is not collector]
