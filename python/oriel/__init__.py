"""Oriel: live ranges, a ptxas-style optimiser and register estimates for LLVM's NVPTX back end.

    import oriel

    report = oriel.report("kernel.bc", sm=90)
    print(report[0].registers_estimate, report[0].occupancy_warps_per_sm)
    compiled = oriel.compile("kernel.bc", sm=90)
    open("kernel.ptx", "w").write(compiled.ptx)

A source is a file name, as `str` or `os.PathLike`, or LLVM IR itself: `bytes` of bitcode or text,
or a `str` with a line break. `name` names a source in memory in messages and reports.
Errors are raised as `oriel.Error` with the message of the command line tool. Other threads run
during a call.
"""

from __future__ import annotations

import json
import os
from typing import Literal

try:
    from . import _oriel
except ImportError as error:
    if "libLLVM" not in str(error):
        raise
    raise ImportError(f"Oriel needs LLVM 22 ({error}): apt-get install libllvm22") from error

from ._oriel import Error
from ._report import (Compilation, FunctionReport, LiveIntervals, Report, Tuning, from_fields)

__all__ = ["Compilation", "Error", "FunctionReport", "LiveIntervals", "Report", "Source", "Tuning",
           "compile", "live", "report", "tune", "__version__"]

#: A file name, or LLVM IR as text or bitcode.
Source = str | bytes | os.PathLike[str]

#: A compute capability: 90, "90a" or "sm_90a".
Sm = int | str

#: The version of Oriel and of the LLVM that it was built for.
__version__: str = _oriel.VERSION


def _input(source: Source, name: str | None) -> tuple[str | os.PathLike[str], bytes | None]:
    """Returns the name of a source, and its content unless it is a file."""
    if isinstance(source, bytes):
        return name or "<bytes>", source
    if isinstance(source, str) and "\n" in source:
        return name or "<string>", source.encode()
    return source, None


def _target(sm: Sm | None) -> str | None:
    """Returns a compute capability in the form of the tool."""
    return None if sm is None else str(sm).removeprefix("sm_")


def report(source: Source, sm: Sm | list[Sm] | None = None, *, profile: Literal["ptxas", "max"] | None = None,
           ptx_version: int | None = None, llvm_flags: str = "", ptxas: bool | str | os.PathLike[str] = False,
           name: str | None = None) -> Report:
    """Reports on the functions of a module, as `oriel report` does.

    `sm` is one compute capability or several, by default LLVM's. The report describes LLVM's code
    or, with a profile, the code after Oriel's phases. With `ptxas`, the PTX is compiled by ptxas,
    or by the program of that path, and the report includes its figures. `ptx_version` and `llvm_flags`
    are as in `compile`. Snapshots (`.oriel`) and machine IR (`.mir`) have to be files.
    """
    targets = sm if isinstance(sm, list) else [sm]
    wanted = [target for target in map(_target, targets) if target is not None]
    return Report(_oriel.report(*_input(source, name), wanted, ptx_version, profile, llvm_flags, ptxas))


def compile(source: Source, sm: Sm | None = None, *, profile: Literal["ptxas", "max"] | None = None,
            ptx_version: int | None = None, level: int = 2, flags: str = "", llvm_flags: str = "",
            fp_fusion: bool = False, ptxas: bool | str | os.PathLike[str] = False, name: str | None = None) -> Compilation:
    """Compiles a module to PTX with Oriel's phases, as `oriel compile` does.

    `ptx_version` is ten times the version of the PTX: 86 for 8.6. `level` is LLVM's optimisation
    level, 0 to 3. `flags` are further options as in ORIEL_FLAGS, such as "-oriel=analyze", which
    leaves the code unchanged. `llvm_flags` are options of LLVM's own, such as `Tuning.llvm_flags`;
    other threads' compilations wait meanwhile. `fp_fusion` contracts multiplications and additions
    everywhere; without it, LLVM contracts them only where the module allows it.
    """
    if profile is not None:
        flags = f"-oriel-profile={profile} {flags}"
    if not 0 <= level <= 3:
        raise Error(f"level {level} is not in 0 to 3")
    ptx, lines, functions = _oriel.compile(*_input(source, name), _target(sm), ptx_version, level, flags, llvm_flags,
                                           fp_fusion, ptxas)
    stages = [from_fields(json.loads(line)) for line in lines.splitlines()]
    return Compilation(ptx.decode(errors="replace"), Report(functions), stages)


def live(source: Source, sm: Sm | None = None, *, name: str | None = None) -> list[LiveIntervals]:
    """Returns LLVM's live intervals of each function, at both stages of its compilation."""
    found = _oriel.live(*_input(source, name), _target(sm))
    return [LiveIntervals(function, stage, text, dict(registers)) for function, stage, text, registers in found]


def tune(source: Source, sm: Sm | None = None, *, goal: Literal["registers", "spills", "occupancy", "sass"] = "registers",
         arguments: list[str] | None = None, name: str | None = None) -> Tuning:
    """Finds the best options for a kernel, as `oriel tune` does.

    `arguments` are further arguments of the command, such as ["--rounds", "2", "--estimate"].
    """
    given = [*(arguments or []), "--goal", goal, "--output", "-"]
    if (target := _target(sm)) is not None:
        given += ["--sm", target]
    text, ptx = _oriel.tune(*_input(source, name), given)
    fields = json.loads(text)
    return Tuning(fields, "" if ptx is None else ptx.decode(errors="replace"))
