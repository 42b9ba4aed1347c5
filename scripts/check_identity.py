#!/usr/bin/env python3
"""Exports every example's functions, rebuilds them and compares the PTX with that of llc alone, byte for byte.

    scripts/check_identity.py [--sm 50,80] [-O 1,2,3] [SOURCE ...]

Each source is compiled for each compute capability and optimisation level, with and without -g; llc then runs
alone, with `-oriel=optimize -oriel-phases=none` and with `-oriel=analyze`, always with -verify-machineinstrs.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import common
import examples

MODES = {
    "rebuilt": ["-oriel=optimize", "-oriel-phases=none"],
    "analyzed": ["-oriel=analyze"],
}


def check(configuration):
    """The problems of one configuration, as a list of texts."""
    source, sm, level, debug = configuration
    name = f"{source} sm_{sm} -O{level}{' -g' if debug else ''}"
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        bitcode, plain, report = (Path(folder) / file for file in ("in.bc", "plain.ptx", "report.json"))
        try:
            common.run(examples.clang_command(source, bitcode, sm, level, debug))
            command = [*examples.llc_command(bitcode, plain, sm, level), "-verify-machineinstrs"]
            common.run(command)
            for mode, options in MODES.items():
                output = Path(folder) / f"{mode}.ptx"
                command = [*examples.llc_command(bitcode, output, sm, level), "-verify-machineinstrs"]
                command += [f"-load={common.plugin()}", *options, f"-oriel-report={report}"]
                printed = common.run(command).stderr
                if printed:
                    problems.append(f"{name}: {mode}: {printed}")
                if output.read_bytes() != plain.read_bytes():
                    problems.append(f"{name}: {mode}: the PTX differs")
                # An empty report would mean that nothing was tested.
                wanted = '"outcome":"identity"' if mode == "rebuilt" else '"outcome":"unchanged"'
                lines = report.read_text().splitlines()
                if not lines or any(wanted not in line for line in lines):
                    problems.append(f"{name}: {mode}: a function was not {mode}")
        except (RuntimeError, OSError) as error:
            problems.append(f"{name}: {error}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--sm", default=",".join(examples.SM_VERSIONS))
    parser.add_argument("-O", dest="levels", default=",".join(examples.OPT_LEVELS))
    arguments = parser.parse_args()
    configurations = [
        (source, sm, level, debug)
        for source in arguments.sources or examples.examples()
        for sm in arguments.sm.split(",")
        for level in arguments.levels.split(",")
        for debug in (False, True)
    ]
    results = common.parallel("export and rebuild", check, configurations)
    failed = sum(1 for problems in results if problems)
    for problems in results:
        print("".join(f"FAIL {problem}\n" for problem in problems), end="")
    comparisons = len(configurations) * len(MODES)
    print(f"{comparisons} comparisons of {len(configurations)} configurations")
    print(f"identity: {len(configurations) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
