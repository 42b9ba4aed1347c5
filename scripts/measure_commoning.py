#!/usr/bin/env python3
"""What phases that make values common do to the examples: PTX instructions, and registers, spills and size by ptxas.

    scripts/measure_commoning.py [--sm 90] [-O 2] [--phases LIST ...] [--llc OPTION ...] [--without-ptxas] [SOURCE ...]

Each example is compiled without phases and with each selection (a list of phases as for -oriel-phases). A line for each
function whose PTX got longer or whose registers or instructions ptxas counts differently, then one that sums up: PTX
instructions, copies (mov), registers, spilled bytes (stores and loads) and machine instructions before and after, what
the phases counted, and how long they took by instruction. With --llc=-disable-machine-cse the phases have to do what
LLVM's MachineCSE does otherwise.
"""

import argparse
import collections
import json
import re
import sys
import tempfile
from pathlib import Path

import common
import examples
from check_phases import find_ptxas
from measure_splitting import assemble

SELECTIONS = (
    "GvnCse",
    "OriReassociateAndCommon",
    "LateOriCommoning",
    "LateOriCommoning@late",
    "GvnCse,OriReassociateAndCommon,LateOriCommoning",
)


def count_copies(ptx):
    """Number of instructions that only copy a register or a constant."""
    return len(re.findall(r"^\s+(?:@!?%p\d+ )?mov\.", ptx, re.MULTILINE))


def measure(work):
    """Of one source, by selection: PTX instructions and copies before and after, ptxas' figures by function (none where
    the PTX is the same), and the lines of the report."""
    source, sm, level, selections, llc_options, ptxas = work
    results = []
    with tempfile.TemporaryDirectory() as folder:
        bitcode, plain, ptx, report, cubin = (
            Path(folder) / name for name in ("in.bc", "plain.ptx", "out.ptx", "report", "out.cubin"))
        common.run(examples.clang_command(source, bitcode, sm, level))
        common.run([*examples.llc_command(bitcode, plain, sm, level), *llc_options])
        text, before = plain.read_text(), None
        for selection in selections:
            command = [*examples.llc_command(bitcode, ptx, sm, level), *llc_options, f"-load={common.plugin()}"]
            command += [f"-oriel-phases={selection}", f"-oriel-report={report}", "-oriel-verify"]
            if problem := common.run(command).stderr:
                raise RuntimeError(f"{source}: {problem}")
            new = ptx.read_text()
            figures = {}
            if ptxas and new != text:
                before = before or assemble(ptxas, plain, cubin, sm, 0)
                after = assemble(ptxas, ptx, cubin, sm, 0)
                figures = {name: (before[name], after[name]) for name in before}
            lines = [json.loads(line) for line in report.read_text().splitlines()]
            counts = [common.count_ptx_instructions(text), common.count_ptx_instructions(new)]
            results.append((selection, counts, (count_copies(text), count_copies(new)), figures, lines))
    return source, results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--sm", default="90")
    parser.add_argument("-O", dest="level", default="2")
    parser.add_argument("--phases", action="append", help="a list of phases; repeatable")
    parser.add_argument("--llc", action="append", default=[], help="an option for llc; repeatable")
    parser.add_argument("--without-ptxas", action="store_true")
    arguments = parser.parse_args()
    ptxas = None if arguments.without_ptxas else find_ptxas()
    selections = arguments.phases or SELECTIONS
    sources = arguments.sources or examples.examples()
    work = [(source, arguments.sm, arguments.level, selections, arguments.llc, ptxas) for source in sources]
    sums = {selection: collections.Counter() for selection in selections}
    for source, results in common.parallel("without and with phases", measure, work):
        for selection, (before, after), copies, figures, lines in results:
            counted = sums[selection]
            counted["changed sources"] += before != after or bool(figures)
            counted["PTX before"] += sum(before.values())
            counted["PTX after"] += sum(after.values())
            counted["copies before"] += copies[0]
            counted["copies after"] += copies[1]
            for name in before:
                if after[name] > before[name]:
                    print(f"{selection} {source} {name}: {before[name]} -> {after[name]} PTX instructions")
            for name, (old, new) in figures.items():
                for number, what in enumerate(("registers", "spill stores", "spill loads", "instructions")):
                    counted[f"{what} before"] += old[number]
                    counted[f"{what} after"] += new[number]
                if old != new:
                    print(f"{selection} {source} {name}: registers, spills, instructions {old} -> {new}")
            for line in lines:
                for phase, values in line.get("phases", {}).items():
                    counted.update({f"{phase} {key}": value for key, value in values.items()})
                for phase, nanoseconds in line.get("phase_ns", {}).items():
                    counted[f"{phase} ns"] += nanoseconds
                    counted[f"{phase} instructions seen"] += line["instructions_in"]
    for selection, counted in sums.items():
        print(f"{selection}: " + ", ".join(f"{name} {value}" for name, value in counted.items() if value))
    return 0


if __name__ == "__main__":
    sys.exit(main())
