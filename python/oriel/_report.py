"""The results of reports and compilations."""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

from . import _oriel


@dataclasses.dataclass(frozen=True)
class FunctionReport:
    """A line of the report, with the fields of docs/report.schema.json; those it lacks are None."""

    module: str
    function: str
    is_kernel: bool
    #: Compute capability times ten.
    sm: int
    #: "ssa" or "late".
    stage: str
    blocks: int
    instructions_out: int
    ptx_version: int | None = None
    instructions_in: int | None = None
    registers: int | None = None
    outcome: str | None = None
    problem: str | None = None
    validation: dict[str, Any] | None = None
    peak_pressure_r32: int | None = None
    peak_pressure_pred: int | None = None
    peak_block: int | None = None
    peak_file: str | None = None
    peak_line: int | None = None
    static_shared_bytes: int | None = None
    hash: str | None = None
    registers_estimate: int | None = None
    registers_estimate_low: int | None = None
    registers_estimate_high: int | None = None
    registers_estimate_reasons: list[dict[str, Any]] | None = None
    registers_estimate_unlike: str | None = None
    registers_estimate_optimized: int | None = None
    spill_risk_percent: int | None = None
    registers_limit: int | None = None
    occupancy_threads_per_block: int | None = None
    occupancy_blocks_per_sm: int | None = None
    occupancy_warps_per_sm: int | None = None
    occupancy_max_warps_per_sm: int | None = None
    occupancy_limiter: str | None = None
    registers_for_more_warps: int | None = None
    registers_for_fewer_warps: int | None = None
    ptxas_registers: int | None = None
    ptxas_stack_bytes: int | None = None
    ptxas_spill_store_bytes: int | None = None
    ptxas_spill_load_bytes: int | None = None
    ptxas_shared_bytes: int | None = None
    #: Problems that cost registers, time or memory: "kind", "place", "problem", "cost", "remedy".
    warnings: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    phases: dict[str, dict[str, int]] | None = None
    phase_ns: dict[str, int] | None = None
    export_ns: int | None = None
    library_ns: int | None = None
    apply_ns: int | None = None
    analysis_ns: int | None = None
    oriel_ns: int | None = None
    peaks: list[dict[str, Any]] = dataclasses.field(default_factory=list, repr=False)
    loop_depths: list[dict[str, Any]] = dataclasses.field(default_factory=list, repr=False)
    block_pressure: list[dict[str, Any]] = dataclasses.field(default_factory=list, repr=False)

    def __repr__(self) -> str:
        """Formats the known fields."""
        shown = (field.name for field in dataclasses.fields(self) if field.repr)
        known = ((name, getattr(self, name)) for name in shown)
        return f"FunctionReport({', '.join(f'{name}={value!r}' for name, value in known if value is not None)})"


def from_fields(fields: dict[str, Any]) -> FunctionReport:
    """Returns the report with the fields of a line."""
    return FunctionReport(**fields)


#: The columns of a report's table.
_COLUMNS = {
    "function": "function",
    "sm": "SM",
    "instructions_out": "instructions",
    "peak_pressure_r32": "peak r32",
    "registers_estimate": "estimate",
    "ptxas_registers": "ptxas",
    "occupancy_warps_per_sm": "warps",
}


def _table(rows: list[list[str]]) -> str:
    """Returns rows as lines of aligned columns, the first one to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(text.ljust(width) if place == 0 else text.rjust(width)
                  for place, (text, width) in enumerate(zip(row, widths)))
        for row in rows)


class Report(Sequence[FunctionReport]):
    """The reports on a module's functions, for each compute capability. A notebook shows the HTML page."""

    def __init__(self, functions: _oriel.Functions) -> None:
        self._functions = functions

    @functools.cached_property
    def json_lines(self) -> str:
        """One JSON object per function, each on its line, as `oriel report --json --details` prints them."""
        return self._functions.lines()

    @functools.cached_property
    def functions(self) -> list[FunctionReport]:
        """The reports on the functions."""
        return [from_fields(json.loads(line)) for line in self.json_lines.splitlines()]

    @functools.cached_property
    def html(self) -> str:
        """The report as an HTML page that needs no other files."""
        return self._functions.page()

    def save(self, path: str | Path) -> None:
        """Writes the page to a file."""
        Path(path).write_text(self.html, encoding="utf-8")

    def __len__(self) -> int:
        return len(self.functions)

    @overload
    def __getitem__(self, key: int | str) -> FunctionReport: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[FunctionReport]: ...
    def __getitem__(self, key: int | str | slice) -> FunctionReport | Sequence[FunctionReport]:
        """Returns the report at a position, or the first one on a function of this name."""
        if not isinstance(key, str):
            return self.functions[key]
        for function in self.functions:
            if function.function == key:
                return function
        raise KeyError(key)

    def __repr__(self) -> str:
        rows = [list(_COLUMNS.values())]
        for function in self.functions:
            values = (getattr(function, field) for field in _COLUMNS)
            rows.append(["-" if value is None else str(value) for value in values])
        return _table(rows)

    def _repr_html_(self) -> str:
        """Returns the page in a frame, so that its style and keyboard shortcuts do not affect the notebook."""
        page = base64.b64encode(self.html.encode()).decode()
        return (f'<iframe src="data:text/html;charset=utf-8;base64,{page}" width="100%" height="700" '
                'style="border: 1px solid #ccc; box-sizing: border-box"></iframe>')


@dataclasses.dataclass(frozen=True)
class Compilation:
    """The result of compiling a module."""

    ptx: str = dataclasses.field(repr=False)
    #: The functions after Oriel; empty at level 0.
    report: Report
    #: Oriel's work at each stage: the lines of -oriel-report.
    stages: list[FunctionReport] = dataclasses.field(repr=False)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


@dataclasses.dataclass(frozen=True)
class LiveIntervals:
    """The live intervals of a function at a stage of its compilation."""

    function: str
    stage: str
    #: All intervals in LLVM's form.
    text: str = dataclasses.field(repr=False)
    #: The segments of each register by its number, with both ends in LLVM's notation: 48r is the
    #: slot after the operands of instruction 48 are read.
    registers: dict[int, list[tuple[str, str]]] = dataclasses.field(repr=False)

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Tuning:
    """The result of tuning a module."""

    #: The object that `oriel tune --json` prints.
    fields: dict[str, Any]
    #: The PTX of the best variant.
    ptx: str = dataclasses.field(repr=False)

    @property
    def flags(self) -> str:
        """Oriel's best options, as in ORIEL_FLAGS."""
        return str(self.fields["flags"])

    @property
    def llvm_flags(self) -> str:
        """LLVM's options for the best variant."""
        return str(self.fields.get("llvm_flags", ""))

    @property
    def functions(self) -> list[dict[str, Any]]:
        """The figures of each function before and after."""
        functions: list[dict[str, Any]] = self.fields["functions"]
        return functions

    def __repr__(self) -> str:
        figures = {"registers": "registers", "spill_bytes": "spilled", "warps": "warps", "code_size": "code"}
        rows = [["function", *figures.values()]]
        for function in self.functions:
            before, after = function["before"], function["after"]
            changes = ([str(each.get(figure, "-")) for each in (before, after)] for figure in figures)
            rows.append([function["function"], *(" -> ".join(dict.fromkeys(change)) for change in changes)])
        flags = " ".join(filter(None, (self.flags, self.llvm_flags)))
        return f"{_table(rows)}\nflags: {flags or '(none is better than the given ones)'}"
