#!/usr/bin/env python3
"""Runs llc with Oriel over all examples and looks for memory errors and leaks.

    scripts/check_memory.py [SOURCE ...]              the shim built with AddressSanitizer
    scripts/check_memory.py --valgrind [SOURCE ...]   the usual build under valgrind; much slower

Each function is exported, saved and rebuilt, then changed, refused and put back, then optimised by the phases of both
profiles and reported on. The build with AddressSanitizer is one for debugging, so that the library's debug assertions hold
there, too.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import common
import examples

VALGRIND = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite", "--num-callers=30"]
RUNS = (["-oriel-phases=none", "-oriel-report=report.json", "-oriel-snapshot=."],
        ["-oriel-inject-fault=failed-verification"],
        ["-oriel-profile=max", "-oriel-report=report.json"],
        ["-oriel-profile=ptxas", "-oriel-least-pressure=0"])


def sanitized_build():
    """Builds the laboratory's plug-in with AddressSanitizer in its shims; it and the environment that it runs in."""
    folder = common.target_dir() / "sanitized"
    environment = {**os.environ, "ORIEL_SANITIZE": "address"}
    common.run(["cargo", "build", "--lib", "--target-dir", folder], env=environment)
    runtime = common.run(["g++", "-print-file-name=libasan.so"]).stdout.strip()
    return folder / "debug" / "liboriel_laboratory.so", {
        **os.environ,
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "exitcode=99:detect_leaks=1:detect_odr_violation=0",
    }


def check(source, prefix, plugin, environment):
    """What is found in one source, or an empty text."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bitcode = folder / "in.bc"
        try:
            common.run(examples.clang_command(source, bitcode, debug=True))
            for options in RUNS:
                options = [option.replace("report.json", f"{folder}/report.json").replace("=.", f"={folder}")
                           for option in options]
                llc = examples.llc_command(bitcode, folder / "out.ptx")
                common.run([*prefix, *llc, f"-load={plugin}", *options], env=environment)
        except (RuntimeError, OSError) as error:
            return f"{source}: {error}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--valgrind", action="store_true")
    parser.add_argument("sources", nargs="*")
    arguments = parser.parse_args()
    if arguments.valgrind:
        prefix, plugin, environment = VALGRIND, common.laboratory(), None
    else:
        prefix = []
        plugin, environment = sanitized_build()
    sources = arguments.sources or examples.examples()
    found = common.parallel("memory", lambda source: check(source, prefix, plugin, environment), sources)
    problems = [problem for problem in found if problem]
    print("".join(f"FAIL {problem}\n" for problem in problems), end="")
    print(f"memory: {len(sources) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
