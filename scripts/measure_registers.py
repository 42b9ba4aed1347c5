#!/usr/bin/env python3
"""Adds kernels to the data of the register estimate: what ptxas says of them, and their features.

    scripts/measure_registers.py --family NAME [--sm 75,80,90] FILE.bc ...

Files are LLVM IR or bitcode of one application, the family. Kernels get a checksum of file and kernel in place of their name; a line
of the same checksum and SM is replaced. What llc or ptxas refuses is named and left out. Then fit: scripts/calibrate_estimate.py.
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
from calibrate_estimate import DATA, KEYS, RESULTS
from check_phases import find_ptxas


def registers_by_ptxas(ptxas, ptx, sm, cubin):
    """Registers and spilled bytes of each kernel."""
    said = common.run([ptxas, "-v", f"-arch=sm_{sm}", "-o", cubin, ptx]).stderr
    found = {}
    for part in said.split("Compiling entry function")[1:]:
        name = re.match(r" '([^']*)'", part)
        used = re.search(r"Used (\d+) registers", part)
        spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part)
        if name and used:
            found[name.group(1)] = int(used.group(1)), sum(map(int, spilled.groups())) if spilled else 0
    return found


def measure(source, sm, family, ptxas, folder):
    """Lines for the kernels of a file."""
    ptx = Path(folder) / "out.ptx"
    common.run(examples.llc_command(source, ptx, sm, "3"))
    machine = registers_by_ptxas(ptxas, ptx, sm, Path(folder) / "out.cubin")
    said = common.run([common.tool(), "features", "--sm", sm, source]).stdout
    lines = []
    for kernel in map(json.loads, said.splitlines()):
        if kernel["function"] not in machine:
            continue
        registers, spilled = machine[kernel["function"]]
        checksum = zlib.crc32(f"{Path(source).stem} {kernel['function']}".encode())
        keys = dict(zip(KEYS, (family, f"{checksum:08x}", sm, registers, spilled)))
        features = {name: f"{value:g}" for name, value in kernel["features"].items()}
        lines.append(keys | dict.fromkeys(RESULTS, 0) | features)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", required=True)
    parser.add_argument("--sm", default="75,80,86,90,100,120")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    ptxas = find_ptxas() or sys.exit("ptxas is not here")
    with DATA.open() as file:
        reader = csv.DictReader(file)
        rows = {(row["kernel"], row["sm"]): row for row in reader}
        columns = reader.fieldnames
    with tempfile.TemporaryDirectory() as folder:
        for source in arguments.files:
            for sm in arguments.sm.split(","):
                try:
                    for line in measure(Path(source).resolve(), sm, arguments.family, ptxas, folder):
                        rows[line["kernel"], line["sm"]] = line
                except RuntimeError as problem:
                    print(f"{source} for sm_{sm} is left out: {str(problem).splitlines()[0]}", file=sys.stderr)
    lines = sorted(rows.values(), key=lambda row: (row["family"], row["kernel"], int(row["sm"])))
    with DATA.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
