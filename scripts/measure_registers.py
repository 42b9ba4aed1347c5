#!/usr/bin/env python3
"""Adds kernels to the data of the register estimate: what ptxas says of them, and their features.

    scripts/measure_registers.py --family NAME --front-end CUDA [--sm 75,80,90] [--without-debug] FILE.bc ...

Files are LLVM IR or bitcode of one project, the family. With debug information the PTX tells ptxas to compile for a debugger; with
--without-debug that mark is taken out first, as Triton does. Kernels get a checksum of file and kernel in place of their name; a line
of the same checksum and SM is replaced. What llc or ptxas refuses is named and left out. Then fit: scripts/calibrate_estimate.py.
"""

import argparse
import csv
import json
import sys
import tempfile
import zlib
from pathlib import Path

import common
import examples
import ptxas

DATA = common.ROOT / "calibration" / "registers.csv"
# What ptxas made of a kernel, and what estimates of it calibrate_estimate.py enters; the other columns are features.
KEYS = ("family", "front_end", "kernel", "sm", "registers", "spilled_bytes")
RESULTS = ("held_out", "fitted")


def measure(source, sm, arguments, assembler, folder):
    """Lines for the kernels of a file."""
    ptx = Path(folder) / "out.ptx"
    common.run(examples.llc_command(source, ptx, sm, "3"))
    if arguments.without_debug:
        ptx.write_text(ptxas.without_debug(ptx.read_text()))
    machine = ptxas.assemble(assembler, ptx, Path(folder) / "out.cubin", sm)
    options = ["--without-debug"] if arguments.without_debug else []
    said = common.run([common.tool(), "features", *options, "--sm", sm, source]).stdout
    lines = []
    for kernel in map(json.loads, said.splitlines()):
        if kernel["function"] not in machine:
            continue
        registers, stores, loads, _ = machine[kernel["function"]]
        checksum = zlib.crc32(f"{Path(source).stem} {kernel['function']}".encode())
        keys = dict(zip(KEYS, (arguments.family, arguments.front_end, f"{checksum:08x}", sm.rstrip("af"), registers, stores + loads)))
        features = {name: f"{value:g}" for name, value in kernel["features"].items()}
        lines.append(keys | dict.fromkeys(RESULTS, 0) | features)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", required=True)
    parser.add_argument("--front-end", required=True, help="such as CUDA, OpenCL, Triton")
    parser.add_argument("--without-debug", action="store_true")
    parser.add_argument("--sm", default="75,80,86,90,100,120")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    assembler = ptxas.executable()
    if not assembler:
        parser.error("ptxas is not installed: set LLVM_PTXAS_EXECUTABLE, or `pip install nvidia-cuda-nvcc`")
    with DATA.open() as file:
        reader = csv.DictReader(file)
        rows = {(row["kernel"], row["sm"], row["debug"]): row for row in reader}
        columns = reader.fieldnames
    with tempfile.TemporaryDirectory() as folder:
        for source in arguments.files:
            for sm in arguments.sm.split(","):
                try:
                    for line in measure(Path(source).resolve(), sm, arguments, assembler, folder):
                        rows[line["kernel"], line["sm"], line["debug"]] = line
                except RuntimeError as problem:
                    print(f"{source} for sm_{sm} is left out: {str(problem).splitlines()[0]}", file=sys.stderr)
    lines = sorted(rows.values(), key=lambda row: (row["family"], row["kernel"], row["sm"], row["debug"]))
    with DATA.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
