#!/usr/bin/env python3
"""Adds kernels to the data of the register estimate: what ptxas says of them, and their features.

    scripts/measure_registers.py --family NAME --front-end CUDA [--sm 75,80,90] [--most-kernels 6]
                                 [--maxnreg N] [--without-debug] FILE.bc ...

Files are LLVM IR or bitcode of one project, the family. Of each, up to --most-kernels kernels are taken, in the order of a hash of their
names. Those of Triton (front ends "Triton", with made-up types and constants, and "Triton launched", which launch_triton.py
records) are compiled with the options that Triton gives to its own LLVM. With debug information the PTX tells ptxas to
compile for a debugger; with --without-debug that mark is taken out first, as Triton does. With --maxnreg, kernels get the limit N, up to
which ptxas uses registers freely: that says more of what a kernel needs than the step of occupancy at which it stops otherwise. Kernels
get a checksum of file and kernel in place of their name; a line of the same family, checksum, SM and N is replaced. What llc or ptxas
refuses is named and left out. So, without a word, are kernels that spill although they may have more registers than ptxas gives them,
since that says nothing of what they need. Then fit: scripts/calibrate_estimate.py.
"""

import argparse
import csv
import json
import re
import sys
import tempfile
import zlib
from pathlib import Path

import common
import examples
import ptxas
from judging import AS_IN_TRITON

DATA = common.ROOT / "calibration" / "registers.csv"
# What ptxas made of a kernel, and what estimates of it calibrate_estimate.py enters; the other columns are features.
KEYS = ("family", "front_end", "kernel", "rules", "limit_added", "sm", "registers", "spilled_bytes")
RESULTS = ("held_out", "fitted")
# Counts the changes of the rules by which features are computed. Lines of projects that could not be measured again have a lower number.
RULES = 2
KERNEL = re.compile(r'^define [^\n]*\bptx_kernel\b[^\n@]*@("?)([^\n"(]+)\1\(', re.MULTILINE)
# The share of its limit from which on a kernel that spills shows that it would need more.
SPILLS_FROM = 0.9


def key_of(line):
    return tuple(str(line[name]) for name in ("family", "kernel", "limit_added", "sm", "debug"))


def kernels_of(source):
    text = common.run([common.llvm_bin() / "llvm-dis", source, "-o", "-"]).stdout if source.suffix == ".bc" else source.read_text()
    return [name for _, name in KERNEL.findall(text)]


def with_few_kernels(source, most, folder):
    """The file with so many of its kernels, and with what they call."""
    kernels = sorted(kernels_of(source), key=lambda name: zlib.crc32(name.encode()))
    few = Path(folder) / f"{source.stem}.bc"
    kept = f"-internalize-public-api-list={','.join(kernels[:most])}"
    common.run([common.llvm_bin() / "opt", "-passes=internalize,globaldce", kept, source, "-o", few])
    return few


def with_limit(source, limit, folder):
    """The file with `.maxnreg` for its kernels."""
    attributes, limited = Path(folder) / "attributes.csv", Path(folder) / f"{source.stem}.limited.bc"
    attributes.write_text("".join(f"{name},nvvm.maxnreg={limit}\n" for name in kernels_of(source)))
    common.run([common.llvm_bin() / "opt", "-passes=forceattrs", f"-forceattrs-csv-path={attributes}", source, "-o", limited])
    return limited


def measure(source, stem, sm, arguments, assembler, folder):
    """Lines for the kernels of a file."""
    ptx, inputs = Path(folder) / "out.ptx", [source]
    command = examples.llc_command(source, ptx, sm, "3")
    if arguments.front_end.startswith("Triton"):
        # LLVM's options change the code, so the features are those of what llc made with them.
        snapshots = Path(tempfile.mkdtemp(dir=folder))
        command[1:1] = [*AS_IN_TRITON, f"-load={common.plugin()}", "-oriel=analyze", f"-oriel-snapshot={snapshots}"]
    common.run(command)
    if arguments.front_end.startswith("Triton"):
        inputs = sorted(snapshots.glob("*.late.oriel"))
    if arguments.without_debug:
        ptx.write_text(ptxas.without_debug(ptx.read_text()))
    machine = ptxas.assemble(assembler, ptx, Path(folder) / "out.cubin", sm)
    options = ["--without-debug"] if arguments.without_debug else []
    said = common.run([common.tool(), "features", *options, "--sm", sm, *inputs]).stdout
    lines = []
    for kernel in map(json.loads, said.splitlines()):
        if kernel["function"] not in machine:
            continue
        registers, stores, loads, _ = machine[kernel["function"]]
        if stores + loads > 0 and registers < SPILLS_FROM * kernel["features"]["register_limit"]:
            continue
        checksum = zlib.crc32(f"{stem} {kernel['function']}".encode())
        known = (arguments.family, arguments.front_end, f"{checksum:08x}", RULES, str(arguments.maxnreg), sm.rstrip("af"), registers, stores + loads)
        keys = dict(zip(KEYS, known))
        features = {name: f"{value:g}" for name, value in kernel["features"].items()}
        lines.append(keys | dict.fromkeys(RESULTS, 0) | features)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", required=True)
    parser.add_argument("--front-end", required=True, help="such as CUDA, OpenCL, Triton")
    parser.add_argument("--without-debug", action="store_true")
    parser.add_argument("--most-kernels", type=int, help="of a file; without it all")
    parser.add_argument("--maxnreg", type=int, default=0, help="a limit for all kernels")
    parser.add_argument("--sm", default="75,80,86,90,100,120")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    assembler = ptxas.required()
    with DATA.open() as file:
        reader = csv.DictReader(file)
        # Of two lines of one kernel, that of the later rules is kept.
        rows = {key_of(row): row for row in sorted(reader, key=lambda row: int(row["rules"]))}
        columns = reader.fieldnames
    with tempfile.TemporaryDirectory() as folder:
        for source in map(Path.resolve, map(Path, arguments.files)):
            few = with_few_kernels(source, arguments.most_kernels, folder) if arguments.most_kernels else source
            few = with_limit(few, arguments.maxnreg, folder) if arguments.maxnreg else few
            for sm in arguments.sm.split(","):
                try:
                    for line in measure(few, source.stem, sm, arguments, assembler, folder):
                        rows[key_of(line)] = line
                except RuntimeError as problem:
                    print(f"{source} for sm_{sm} is left out: {str(problem).splitlines()[0]}", file=sys.stderr)
    lines = sorted(rows.values(), key=lambda row: (row["family"], row["kernel"], int(row["sm"]), row["debug"], row["limit_added"]))
    with DATA.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
