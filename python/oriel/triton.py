"""Reports on Triton's kernels, and compiles them with Oriel.

    with oriel.triton.report() as kernels:      # Triton compiles as before, and Oriel reports
        kernel[grid](...)
    print(kernels["kernel"])

    oriel.triton.install(profile="max")         # LLVM 22 with Oriel replaces Triton's LLVM
    oriel.triton.uninstall()

Works with Triton 3.5 to 3.7, with or without a GPU: `triton.compile` needs none if it gets a
target. LLVM 22 cannot read some LLVM IR of newer versions; then Triton compiles the kernel, and a
warning gives the reason.

The module replaces a stage of the backend for NVIDIA, because no hook exists in all these versions
that is also part of the key of Triton's cache. Triton keeps kernels that this process has launched
in memory and does not compile them again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import oriel

__all__ = ["Kernel", "Kernels", "install", "report", "uninstall"]


class Kernel(NamedTuple):
    """A kernel that Triton has compiled."""

    name: str
    #: The compute capability, such as "sm_90a".
    target: str
    report: oriel.Report
    #: The input of ptxas.
    ptx: str
    #: True if Oriel, not Triton, generated the PTX.
    is_oriels: bool

    def __repr__(self) -> str:
        return f"{self.name}, {self.target}, PTX by {'Oriel' if self.is_oriels else 'Triton'}\n{self.report!r}"


class Kernels(list[Kernel]):
    """The compiled kernels in order. Indexing with a name returns the last kernel of that name."""

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for kernel in reversed(self):
            if kernel.name == key:
                return kernel
        raise KeyError(key)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self)) or "no kernels"

    def _repr_html_(self) -> str:
        return "\n".join(f"<h4>{kernel.name}, {kernel.target}</h4>{kernel.report._repr_html_()}" for kernel in self)


class _Installed(NamedTuple):
    """The arguments of `install`."""

    profile: Literal["ptxas", "max"]
    flags: str
    strict: bool


_installed: _Installed | None = None

#: As in Triton: its LLVM makes one instruction of a product and a sum of 64 bits.
_LLVM_FLAGS = "-nvptx-mad-wide-opt"

#: The reports in progress, each with its kernels and whether it includes ptxas' figures.
_collectors: list[tuple[Kernels, bool]] = []


def _backend() -> Any:
    """Returns Triton's backend for NVIDIA, after adding Oriel to its stages."""
    try:
        from triton.backends.nvidia import compiler
    except ImportError as error:
        message = f"Triton or its backend for NVIDIA is missing ({error}): pip install triton==3.6.0"
        raise oriel.Error(message) from error
    if hasattr(compiler.CUDABackend.add_stages, "__wrapped__"):
        return compiler
    add_stages, key = compiler.CUDABackend.add_stages, compiler.CUDABackend.hash

    @functools.wraps(add_stages)
    def add_changed_stages(self: Any, stages: dict[str, Any], options: Any, *rest: Any) -> None:
        add_stages(self, stages, options, *rest)
        stages["ptx"] = functools.partial(_make_ptx, compiler, self.target.arch, options, stages["ptx"])

    @functools.wraps(key)
    def changed_key(self: Any) -> str:
        if _installed is None:
            return key(self)
        return f"{key(self)}-oriel {_build()} {_installed} {os.environ.get('ORIEL_FLAGS', '')}"

    compiler.CUDABackend.add_stages, compiler.CUDABackend.hash = add_changed_stages, changed_key
    return compiler


@functools.cache
def _build() -> str:
    """Returns a hash of Oriel's code, so that kernels of another build are compiled again."""
    code = hashlib.sha256()
    for file in (oriel._oriel.__file__, *sorted(Path(__file__).parent.glob("*.py"))):
        code.update(Path(file).read_bytes())
    return code.hexdigest()


def _ptxas_for(capability: int) -> bool | str:
    """Returns the ptxas for the capability: Triton's, unless another is installed."""
    from triton import knobs

    if shutil.which(os.environ.get("LLVM_PTXAS_EXECUTABLE", "ptxas")):
        return True
    # From 3.6 on, Triton has a newer ptxas for Blackwell; the other cannot read PTX for it.
    tool = getattr(knobs.nvidia, "ptxas_blackwell", knobs.nvidia.ptxas) if capability >= 100 else knobs.nvidia.ptxas
    return tool.path


def _keeps_debug() -> bool:
    """True if the PTX keeps "debug", for a debugger. Otherwise Triton removes it, and ptxas optimizes."""
    from triton import knobs

    return bool(getattr(knobs.compilation, "dump_ir_extract_di_local_variables", False))


def _source_for_oriel(llvm_ir: str) -> str:
    """Returns LLVM IR for which LLVM emits "debug" only if ptxas will not optimize the PTX.

    Estimates are then for the code that ptxas generates. Files are named with their folders, as
    reports have only the names.
    """
    from triton import knobs

    named = r'!DIFile(filename: "\2/\1", directory: "\2"'
    llvm_ir = re.sub(r'!DIFile\(filename: "([^"/][^"]*)", directory: "([^"]+)"', named, llvm_ir)
    if _keeps_debug() or knobs.nvidia.disable_ptxas_opt:
        return llvm_ir
    wanted = "emissionKind: DebugDirectivesOnly"
    return re.sub(r"\bemissionKind: (?:FullDebug|LineTablesOnly)\b", wanted, llvm_ir)


def _kernel_name(llvm_ir: str) -> str:
    """Returns the name of the kernel, the only function that is not internal."""
    match = re.search(r"^define (?!internal)[^@]*@\"?([\w.$]+)", llvm_ir, re.MULTILINE)
    return match.group(1) if match else "kernel"


def _compile_with(installed: _Installed, compiler: Any, capability: int, options: Any, llvm_ir: str, name: str,
                  ptxas: bool | str) -> tuple[str, oriel.Report]:
    """Compiles a kernel with Oriel. Returns the PTX, changed as Triton changes LLVM's, and the report."""
    features = re.search(r"\+ptx(\d+)", compiler.get_features(options, capability))
    compiled = oriel.compile(_source_for_oriel(llvm_ir), compiler.sm_arch_from_capability(capability),
                             profile=installed.profile, flags=installed.flags, llvm_flags=_LLVM_FLAGS, level=3,
                             ptx_version=int(features.group(1)) if features else None,
                             fp_fusion=options.enable_fp_fusion, ptxas=ptxas, name=f"{name}.llir")
    version = compiler.get_ptx_version_from_options(options, capability)
    ptx = re.sub(r"\.version \d+\.\d+", f".version {version // 10}.{version % 10}", compiled.ptx)
    if not _keeps_debug():
        ptx = re.sub(r",\s*debug\b", "", ptx)
    return ptx, compiled.report


def _make_ptx(compiler: Any, capability: int, options: Any, by_triton: Callable[[str, dict[str, Any]], str], llvm_ir: str,
              metadata: dict[str, Any]) -> str:
    """Runs the stage from LLVM IR to PTX: Oriel's if it is installed, else Triton's."""
    ptx, found = None, None
    name = _kernel_name(llvm_ir)
    target = compiler.sm_arch_from_capability(capability)
    ptxas = any(wanted for _, wanted in _collectors) and _ptxas_for(capability)
    try:
        if _installed is not None:
            ptx, found = _compile_with(_installed, compiler, capability, options, llvm_ir, name, ptxas)
            metadata["name"] = name
        elif _collectors:
            found = oriel.report(_source_for_oriel(llvm_ir), target, llvm_flags=_LLVM_FLAGS, ptxas=ptxas,
                                 name=f"{name}.llir")
    except oriel.Error as error:
        import triton
        reason = f"Oriel {oriel.__version__} cannot compile what Triton {triton.__version__} writes for {name}: {error}"
        if _installed is not None and _installed.strict:
            raise oriel.Error(reason) from error
        warnings.warn(f"{reason}\nTriton compiles it instead", RuntimeWarning, stacklevel=2)
    is_oriels = ptx is not None
    if ptx is None:
        ptx = by_triton(llvm_ir, metadata)
    if found is not None:
        for kernels, _ in _collectors:
            kernels.append(Kernel(name, target, found, ptx, is_oriels))
    return ptx


def install(profile: Literal["ptxas", "max"] = "max", *, flags: str = "", strict: bool = False) -> None:
    """Lets Oriel compile Triton's LLVM IR to PTX, with a profile and options as in ORIEL_FLAGS.

    If Oriel cannot compile a kernel, Triton does, and a warning gives the reason. With `strict`, an
    `oriel.Error` is raised instead.
    """
    global _installed
    _backend()
    _installed = _Installed(profile, flags, strict)


def uninstall() -> None:
    """Lets Triton compile again. Reports continue."""
    global _installed
    _installed = None


@contextlib.contextmanager
def report(*, ptxas: bool = False) -> Iterator[Kernels]:
    """Collects reports on all kernels that Triton compiles, including those in its cache on disk.

    A report describes the code that ptxas gets if Oriel compiles the kernel, otherwise the code
    that LLVM 22 generates from Triton's IR. With `ptxas`, it includes the figures of ptxas; Triton's
    ptxas is used unless another is installed.
    """
    _backend()
    from triton import knobs

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
