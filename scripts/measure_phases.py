#!/usr/bin/env python3
"""What phases do to the code of the examples: PTX, and what ptxas makes of it, without and with them.

    scripts/measure_phases.py [--phases NAME,NAME | --profile max] [--sm 90] [-O 3] [--light] [--llc OPTION ...]
                              [SOURCE|FOLDER ...]

Sources are the examples if none are named; modules (*.ll, *.bc), also those of a folder, are taken as they are. Each is compiled
by llc alone and with the phases, which Oriel's verifier checks. With --light clang leaves its IR as it is, as simple front ends do.
A line for each function that is not the same afterwards has, before and after: instructions in PTX, copies between registers,
immediates moved into a register though the function has moved the same one before, accesses of local memory, bytes of it, and by
ptxas registers, spilled bytes (stores and loads) and instructions; without ptxas the rest is measured. The last lines sum up, and
have what the phases counted and their time by instruction. With --llc=-disable-machine-cse phases have to do what LLVM's
MachineCSE does otherwise. The exit status is 1 if a function has more PTX instructions than before, or all together have more
registers or instructions by ptxas.
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
import ptxas

OF_PTX = ("PTX instructions", "copies", "repeated immediates", "local accesses", "bytes of local memory")
OF_PTXAS = ("registers", "bytes of spill stores", "bytes of spill loads", "SASS instructions")

MOVE = re.compile(r"mov\.(\w+)\s+%\w+, (.+);")
LOCAL_ACCESS = re.compile(r"(?:@!?%p\d+ )?(?:ld|st)(?:\.volatile)?\.local\.")
DEPOT = re.compile(r"\.local .*__local_depot\d+\[(\d+)\]")


def count(lines):
    """What `OF_PTX` names, of a function."""
    instructions = common.ptx_instructions(lines)
    copies, repeated, moved = 0, 0, set()
    for line in instructions:
        if not (match := MOVE.match(line)):
            continue
        width, source = match.groups()
        if re.fullmatch(r"%(?:r|rd|rs|rq|p)\d+", source):
            copies += 1
        elif re.match(r"-?\d", source):
            repeated += (width, source) in moved
            moved.add((width, source))
    local = sum(bool(LOCAL_ACCESS.match(line)) for line in instructions)
    depot = sum(int(match.group(1)) for line in lines if (match := DEPOT.match(line)))
    return [len(instructions), copies, repeated, local, depot]


def measure(work):
    """Of one source: by function the counts without and with the phases, and the lines of the report."""
    source, arguments, options, assembler = work
    sm, found = arguments.sm, {}
    with tempfile.TemporaryDirectory() as folder:
        cubin, report = (Path(folder) / name for name in ("out.cubin", "report"))
        bitcode = examples.bitcode_of(source, folder, sm, arguments.light)
        outputs = [Path(folder) / name for name in ("plain.ptx", "phases.ptx")]
        with_oriel = [f"-load={common.plugin()}", "-oriel-verify", f"-oriel-report={report}", *options]
        for ptx, extra in zip(outputs, ([], with_oriel)):
            command = examples.llc_command(bitcode, ptx, sm, arguments.level) + arguments.llc + extra
            if problem := common.run(command).stderr:
                raise RuntimeError(f"{source}: {problem}")
        is_same = outputs[0].read_bytes() == outputs[1].read_bytes()
        is_refused = False
        for side, ptx in enumerate(outputs):
            machine = {}
            if assembler and not is_refused and not (is_same and side):
                try:
                    machine = ptxas.assemble(assembler, ptx, cubin, sm)
                except RuntimeError:
                    # What nothing was optimised in has functions without a body; that is not the phases' doing.
                    if side or not arguments.light:
                        raise
                    is_refused = True
            elif assembler and not is_refused:
                machine = {name: counts[0][len(OF_PTX):] for name, counts in found.items()}
            for name, lines in common.ptx_functions(ptx.read_text()).items():
                of_ptxas = machine.get(name, [0, 0, 0, 0]) if assembler else []
                found.setdefault(name, []).append(count(lines) + list(of_ptxas))
        lines = [json.loads(line) for line in report.read_text().splitlines()]
    return [(f"{Path(source).stem}:{name}", *counts) for name, counts in found.items()], lines


def print_phases(report):
    """A line for each phase: its time, and what it counted in all functions together."""
    counted, nanoseconds, seen = collections.defaultdict(collections.Counter), collections.Counter(), collections.Counter()
    for line in report:
        for phase, values in line.get("phases", {}).items():
            counted[phase].update({name: value for name, value in values.items() if isinstance(value, int)})
        for phase, time in line.get("phase_ns", {}).items():
            nanoseconds[phase] += time
            seen[phase] += line["instructions_in"]
    for phase, time in nanoseconds.items():
        values = "".join(f", {name} {value}" for name, value in counted[phase].items())
        print(f"{phase}: {time / max(seen[phase], 1):.0f} ns an instruction{values}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--phases", help="as -oriel-phases takes them")
    what.add_argument("--profile", default="max", choices=("max", "ptxas"))
    parser.add_argument("--sm", default="90")
    parser.add_argument("-O", dest="level", default="3", choices=examples.OPT_LEVELS)
    parser.add_argument("--light", action="store_true", help="without LLVM's passes over the IR of the examples")
    parser.add_argument("--llc", action="append", default=[], help="an option for llc, with the phases and without; repeatable")
    arguments = parser.parse_args()
    assembler = ptxas.executable()
    options = [f"-oriel-phases={arguments.phases}" if arguments.phases else f"-oriel-profile={arguments.profile}"]
    work = [(source, arguments, options, assembler) for source in examples.sources_of(arguments.sources)]
    results = common.parallel("without and with phases", measure, work)
    lines = [line for found, _ in results for line in found]
    names = OF_PTX + (OF_PTXAS if assembler else ())
    for function, before, after in lines:
        if before != after:
            changes = (f"{name} {one} -> {other}" for name, one, other in zip(names, before, after) if one != other)
            print(f"{function}: {', '.join(changes)}")
    print(f"{len(lines)} functions, {sum(before != after for _, before, after in lines)} changed")
    sums = [[sum(line[side][number] for line in lines) for number in range(len(names))] for side in (1, 2)]
    for name, before, after in zip(names, *sums):
        number = names.index(name)
        better = sum(line[2][number] < line[1][number] for line in lines)
        worse = sum(line[2][number] > line[1][number] for line in lines)
        print(f"{name}: {before} -> {after} ({better} functions better, {worse} worse)")
    print_phases([line for _, report in results for line in report])
    if not assembler:
        print("ptxas is not installed")
    longer = any(after[0] > before[0] for _, before, after in lines)
    limited = [names.index(name) for name in ("registers", "SASS instructions") if name in names]
    return int(longer or any(sums[1][number] > sums[0][number] for number in limited))


if __name__ == "__main__":
    sys.exit(main())
