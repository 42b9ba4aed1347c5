#!/usr/bin/env python3
"""Adds kernels to the data of the register estimate: what ptxas says of them, and their features.

    scripts/measure_registers.py --family NAME [--sm 75,80,90] FILE.bc ...

Files are LLVM IR or bitcode of one application, the family. Kernels get a checksum of file and kernel in place of their name; a line
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


def measure(source, sm, family, assembler, folder):
    """Lines for the kernels of a file."""
    ptx = Path(folder) / "out.ptx"
    common.run(examples.llc_command(source, ptx, sm, "3"))
    machine = ptxas.assemble(assembler, ptx, Path(folder) / "out.cubin", sm)
    said = common.run([common.tool(), "features", "--sm", sm, source]).stdout
    lines = []
    for kernel in map(json.loads, said.splitlines()):
        if kernel["function"] not in machine:
            continue
        registers, stores, loads, _ = machine[kernel["function"]]
        checksum = zlib.crc32(f"{Path(source).stem} {kernel['function']}".encode())
        keys = dict(zip(KEYS, (family, f"{checksum:08x}", sm, registers, stores + loads)))
        features = {name: f"{value:g}" for name, value in kernel["features"].items()}
        lines.append(keys | dict.fromkeys(RESULTS, 0) | features)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", required=True)
    parser.add_argument("--sm", default="75,80,86,90,100,120")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    assembler = ptxas.executable()
    if not assembler:
        parser.error("ptxas is not installed: set LLVM_PTXAS_EXECUTABLE, or `pip install nvidia-cuda-nvcc`")
    with DATA.open() as file:
        reader = csv.DictReader(file)
        rows = {(row["kernel"], row["sm"]): row for row in reader}
        columns = reader.fieldnames
    with tempfile.TemporaryDirectory() as folder:
        for source in arguments.files:
            for sm in arguments.sm.split(","):
                try:
                    for line in measure(Path(source).resolve(), sm, arguments.family, assembler, folder):
                        rows[line["kernel"], line["sm"]] = line
                except RuntimeError as problem:
                    print(f"{source} for sm_{sm} is left out: {str(problem).splitlines()[0]}", file=sys.stderr)
    lines = sorted(rows.values(), key=lambda row: (row["family"], row["kernel"], row["sm"]))
    with DATA.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
