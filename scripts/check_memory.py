#!/usr/bin/env python3
"""Runs llc with Oriel under valgrind over all examples: no invalid access and no leak that Oriel is part of.

    scripts/check_memory.py [SOURCE ...]
"""

import argparse
import sys
import tempfile
from pathlib import Path

import common
import examples

VALGRIND = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite", "--num-callers=30"]


def check(source):
    """What valgrind finds, or an empty text. Each function is rebuilt, and changed and put back."""
    with tempfile.TemporaryDirectory() as folder:
        bitcode = Path(folder) / "in.bc"
        try:
            common.run(examples.clang_command(source, bitcode, debug=True))
            llc = [*VALGRIND, *examples.llc_command(bitcode, Path(folder) / "out.ptx"), f"-load={common.plugin()}"]
            snapshots = Path(folder) / "snapshots"
            snapshots.mkdir()
            common.run([*llc, "-oriel-phases=none", f"-oriel-report={folder}/report.json",
                        f"-oriel-snapshot={snapshots}"])
            common.run([*llc, "-oriel-inject-fault=failed-verification"])
        except (RuntimeError, OSError) as error:
            return f"{source}: {error}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    arguments = parser.parse_args()
    sources = arguments.sources or examples.examples()
    problems = [problem for problem in common.parallel("valgrind", check, sources) if problem]
    print("".join(f"FAIL {problem}\n" for problem in problems), end="")
    print(f"memory: {len(sources) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
