#!/usr/bin/env python3
"""What splitting live ranges does: peak pressure, and registers, spills and size by ptxas, without and with it.

    scripts/measure_splitting.py [--sm 90] [--limits 0,32,64,128] [--budget N] [SOURCE ...]

Sources are the examples and lit-tests/phases/OriSplitLiveRanges/Inputs/high_pressure.cu if none are named. Each is compiled
without phases, with phase 19, with phase 138 and with both. The budget of the phases is the register limit that ptxas is
then given, or N where it is given none (0). For each function that one of the phases changed, a line says peak pressure
in units of 32 bits before and after as Oriel counts it, and what ptxas makes of it: registers, spilled bytes (stores and
loads) and instructions. The last lines sum up.
"""

import argparse
import collections
import json
import sys
import tempfile
from pathlib import Path

import common
import examples
import ptxas

HIGH_PRESSURE = Path("lit-tests/phases/OriSplitLiveRanges/Inputs/high_pressure.cu")
SELECTIONS = {
    "19": "OriSplitLiveRanges",
    "138": "OriSplitHighPressureLiveRanges",
    "19+138": "OriSplitLiveRanges,OriSplitHighPressureLiveRanges",
}


def measure(work):
    """Of one source, a line for each function that a phase ran on: (function, limit, selection, what the phases counted,
    ptxas' figures without them, and with them). ptxas is asked only where the PTX differs."""
    source, sm, limits, budget, assembler = work
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        plain, ptx, report, cubin = (Path(folder) / name for name in ("plain.ptx", "out.ptx", "report", "out.cubin"))
        bitcode = examples.bitcode_of(source, folder, sm)
        common.run(examples.llc_command(bitcode, plain, sm, "2"))
        for limit in limits:
            before = None
            for selection, phases in SELECTIONS.items():
                command = examples.llc_command(bitcode, ptx, sm, "2")
                command += [f"-load={common.plugin()}", f"-oriel-phases={phases}", f"-oriel-report={report}"]
                command += [f"-oriel-register-budget={limit or budget}", "-oriel-verify"]
                if problem := common.run(command).stderr:
                    raise RuntimeError(f"{source}: {problem}")
                after = {}
                if assembler and ptx.read_bytes() != plain.read_bytes():
                    before = before or ptxas.assemble(assembler, plain, cubin, sm, limit)
                    after = ptxas.assemble(assembler, ptx, cubin, sm, limit)
                for name, counted in read_report(report).items():
                    figures = (before[name], after[name]) if name in after else (None, None)
                    lines.append((f"{Path(source).stem}:{name}", limit, selection, counted, *figures))
    return lines


def read_report(report):
    """What the phases counted, by function: the first peak, the last, and sums of the rest."""
    found = {}
    for line in report.read_text().splitlines():
        line = json.loads(line)
        for values in line.get("phases", {}).values():
            known = found.setdefault(line["function"], collections.Counter({"peak-before": values["peak-before"]}))
            known["peak-after"] = values["peak-after"]
            for name in ("split-registers", "new-instructions", "undone-rounds"):
                known[name] += values.get(name, 0)
    return found


def summary(limit, selection, functions, changed):
    """A line that sums up what a selection did to the functions that it changed."""
    peaks = [sum(counted[name] for counted, _, _ in changed) for name in ("peak-before", "peak-after")]
    text = f"limit {limit}, {selection}: {len(changed)} of {functions} functions changed, peaks {peaks[0]} -> {peaks[1]}"
    known = [(before, after) for _, before, after in changed if before]
    for number, name in enumerate(("registers", "spill stores", "spill loads", "instructions")):
        before, after = (sum(figures[side][number] for figures in known) for side in (0, 1))
        better = sum(figures[1][number] < figures[0][number] for figures in known)
        worse = sum(figures[1][number] > figures[0][number] for figures in known)
        text += f", {name} {before} -> {after} ({better} better, {worse} worse)"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--sm", default="90")
    parser.add_argument("--limits", default="0,32,64,128")
    parser.add_argument("--budget", type=int, default=70)
    arguments = parser.parse_args()
    assembler = ptxas.executable()
    limits = [int(limit) for limit in arguments.limits.split(",")]
    sources = examples.sources_of(arguments.sources) + ([] if arguments.sources else [HIGH_PRESSURE])
    work = [(source, arguments.sm, limits, arguments.budget, assembler) for source in sources]
    lines = [line for found in common.parallel("with and without splitting", measure, work) for line in found]
    for limit in limits:
        for selection in SELECTIONS:
            of_both = [line for line in lines if line[1:3] == (limit, selection)]
            changed = [line for line in of_both if line[3]["split-registers"]]
            for name, _, _, counted, before, after in changed:
                print(f"{name} limit {limit or 'none'} {selection}: peak {counted['peak-before']} -> "
                      f"{counted['peak-after']}, {counted['split-registers']} split, {counted['new-instructions']} new; "
                      f"ptxas: registers, spill stores and loads, instructions {before} -> {after}")
            print(summary(limit or "none", selection, len(of_both), [line[3:] for line in changed]))
    if not assembler:
        print("ptxas is not installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
