#!/usr/bin/env python3
"""What phases do to the code of the examples: PTX, and what ptxas makes of it, without and with them.

    scripts/measure_phases.py [--phases NAME,NAME | --profile max] [--sm 90] [-O 3] [--light] [--ptx-only] [SOURCE ...]

Sources are the examples if none are named; bitcode (*.bc) is taken as it is. Each is compiled by llc alone and with the phases,
which Oriel's verifier checks. With --light clang leaves its IR as it is, as simple front ends do. A line for each function that is
not the same afterwards has, before and after: instructions in PTX, copies between registers, immediates moved into a register
though the function has moved the same one before, accesses of local memory, bytes of it, and by ptxas registers, spilled bytes
(stores and loads) and instructions. The last lines sum up. The exit status is 1 if a function has
more PTX instructions than before, or all together have more registers or instructions by ptxas.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import common
import examples
from check_phases import find_ptxas
from measure_splitting import assemble

OF_PTX = ("PTX instructions", "copies", "repeated immediates", "local accesses", "bytes of local memory")
OF_PTXAS = ("registers", "bytes of spill stores", "bytes of spill loads", "SASS instructions")

MOVE = re.compile(r"mov\.(\w+)\s+%\w+, (.+);")
LOCAL_ACCESS = re.compile(r"(?:@!?%p\d+ )?(?:ld|st)(?:\.volatile)?\.local\.")
DEPOT = re.compile(r"\.local .*__local_depot\d+\[(\d+)\]")


def functions_of(ptx):
    """The lines of each function that the PTX text defines."""
    found, name, lines = {}, None, None
    for line in ptx.splitlines():
        if match := re.match(r"(?:\.\w+ )*\.(?:entry|func)\s+(?:\([^)]*\)\s*)?([\w$.]+)", line):
            name = match.group(1)
        if line.startswith("{"):
            lines = found[name] = []
        elif line.startswith("}"):
            lines = None
        elif lines is not None:
            lines.append(line.split("//")[0].strip())
    return found


def count(lines):
    """What `OF_PTX` names, of a function."""
    instructions = [line for line in lines if line.endswith(";") and not line.startswith((".", "{", "}"))]
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
    """By function of one source: the counts without and with the phases."""
    source, options, sm, level, light, ptxas = work
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        bitcode, cubin = Path(folder) / "in.bc", Path(folder) / "out.cubin"
        if Path(source).suffix == ".bc":
            bitcode = Path(source).resolve()
        else:
            common.run(examples.clang_command(source, bitcode, sm, "2", light=light))
        outputs = []
        for name, extra in (("plain", []), ("phases", [f"-load={common.plugin()}", "-oriel-verify", *options])):
            ptx = Path(folder) / f"{name}.ptx"
            if problem := common.run(examples.llc_command(bitcode, ptx, sm, level) + extra).stderr:
                raise RuntimeError(f"{source}: {problem}")
            outputs.append(ptx)
        is_same = outputs[0].read_bytes() == outputs[1].read_bytes()
        is_refused = False
        for side, ptx in enumerate(outputs):
            machine = {}
            if is_refused:
                machine = {}
            elif ptxas and not (is_same and side):
                try:
                    machine = assemble(ptxas, ptx, cubin, sm, 0)
                except RuntimeError:
                    # What nothing was optimised in has functions without a body; that is not the phases' doing.
                    if side or not light:
                        raise
                    is_refused = True
            elif ptxas:
                machine = {name: counts[0][len(OF_PTX):] for name, counts in found.items()}
            for name, lines in functions_of(ptx.read_text()).items():
                of_ptxas = machine.get(name, [0, 0, 0, 0]) if ptxas else []
                found.setdefault(name, []).append(count(lines) + list(of_ptxas))
    return [(f"{Path(source).stem}:{name}", *counts) for name, counts in found.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--phases", help="as -oriel-phases takes them")
    what.add_argument("--profile", default="max", choices=("max", "ptxas"))
    parser.add_argument("--sm", default="90")
    parser.add_argument("-O", dest="level", default="3", choices=examples.OPT_LEVELS)
    parser.add_argument("--light", action="store_true", help="without LLVM's passes over the IR of the examples")
    parser.add_argument("--ptx-only", action="store_true", help="do without ptxas")
    arguments = parser.parse_args()
    ptxas = None if arguments.ptx_only else find_ptxas()
    options = [f"-oriel-phases={arguments.phases}" if arguments.phases else f"-oriel-profile={arguments.profile}"]
    sources = arguments.sources or examples.examples()
    work = [(source, options, arguments.sm, arguments.level, arguments.light, ptxas) for source in sources]
    lines = [line for found in common.parallel("without and with phases", measure, work) for line in found]
    names = OF_PTX + (OF_PTXAS if ptxas else ())
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
    if not ptxas:
        print("ptxas was not asked")
    longer = any(after[0] > before[0] for _, before, after in lines)
    limited = [names.index(name) for name in ("registers", "SASS instructions") if name in names]
    return int(longer or any(sums[1][number] > sums[0][number] for number in limited))


if __name__ == "__main__":
    sys.exit(main())
