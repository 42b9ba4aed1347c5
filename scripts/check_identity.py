#!/usr/bin/env python3
"""Exports every example's functions, rebuilds them and compares the PTX with that of llc alone, byte for byte.

    scripts/check_identity.py [--sm 50,80] [-O 1,2,3] [--share N] [SOURCE ...]

Each source is compiled for each compute capability and optimisation level, with and without -g; llc then runs
alone, with `-oriel=optimize -oriel-phases=none` and with `-oriel=analyze`, with -verify-machineinstrs. Where llc alone
does not pass its own verifier, that switch is left out, and the last line but one says how often. With --share each source is
compiled only in every N-th configuration, and its neighbours in others.
"""

import argparse
import itertools
import sys
import tempfile
from pathlib import Path

import common
import examples

# Warnings about the examples' own code are right there, and the business of lit-tests/report.
SILENT = ["-oriel-warn-launch-bounds=off", "-oriel-warn-unread-stores=off"]
MODES = {
    "rebuilt": ["-oriel=optimize", "-oriel-phases=none"],
    "analyzed": ["-oriel=analyze", *SILENT],
}

# What llc alone makes of a byval parameter of a device function does not pass its own verifier.
LLVM_FINDING = "Bad machine code: Expected a register operand."


def check(configuration):
    """The problems of one configuration, as a list of texts, and whether llc's verifier could be on."""
    source, sm, level, debug = configuration
    name = f"{source} sm_{sm} -O{level}{' -g' if debug else ''}"
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        bitcode, plain, report = (Path(folder) / file for file in ("in.bc", "plain.ptx", "report.json"))
        try:
            common.run(examples.clang_command(source, bitcode, sm, level, debug))
            verify = ["-verify-machineinstrs"]
            try:
                common.run([*examples.llc_command(bitcode, plain, sm, level), *verify])
            except RuntimeError as error:
                if LLVM_FINDING not in str(error) or "MOV64_PARAM" not in str(error):
                    raise
                verify = []
                common.run(examples.llc_command(bitcode, plain, sm, level))
            for mode, options in MODES.items():
                output = Path(folder) / f"{mode}.ptx"
                command = [*examples.llc_command(bitcode, output, sm, level), *verify]
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
            return [f"{name}: {error}"], True
    return problems, bool(verify)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--sm", default=",".join(examples.SM_VERSIONS))
    parser.add_argument("-O", dest="levels", default=",".join(examples.OPT_LEVELS))
    parser.add_argument("--share", type=int, default=1, metavar="N", help="only every N-th configuration of each source")
    arguments = parser.parse_args()
    variants = list(itertools.product(arguments.sm.split(","), arguments.levels.split(","), (False, True)))
    configurations = [
        (source, *variant)
        for number, source in enumerate(arguments.sources or examples.examples())
        for variant in common.share(variants, number, arguments.share)
    ]
    results = common.parallel("export and rebuild", check, configurations)
    failed = sum(1 for problems, _ in results if problems)
    for problems, _ in results:
        print("".join(f"FAIL {problem}\n" for problem in problems), end="")
    comparisons = len(configurations) * len(MODES)
    unverified = len(MODES) * sum(1 for _, verified in results if not verified)
    print(f"{comparisons} comparisons of {len(configurations)} configurations, "
          f"{unverified} of them without -verify-machineinstrs, which llc alone does not pass")
    print(f"identity: {len(configurations) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
