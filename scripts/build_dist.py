#!/usr/bin/env python3
"""Builds the plug-in that is installed: optimised across crates, and for the paths that compilations take.

    scripts/build_dist.py [--without-counts]

The plug-in is built twice. The first counts how often each branch is taken while it compiles the examples; the second is laid out and
inlined by these counts. That takes LLVM's clang++ and llvm-profdata, and a rustc of the same major version of LLVM, since they
share the format of the counts. Without these, or as the switch says, the plug-in is built once, and a line says why.

The result is liboriel.so in the folder `dist` of Cargo's target folder.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import common
import examples

# Cargo optimises across crates only for a library that is no `rlib`.
BUILD = ["rustc", "--profile", "dist", "--lib", "--crate-type", "cdylib"]


def build(target, compiler=None, flag=None):
    """Builds into a target folder; `flag` is for rustc, and with another first letter for the compiler of the shim."""
    environment = dict(os.environ, CARGO_TARGET_DIR=str(target))
    if flag:
        environment["CXX"] = str(compiler)
        for variable, added in (("RUSTFLAGS", f"-C{flag}"), ("CXXFLAGS", f"-f{flag}")):
            environment[variable] = f"{os.environ.get(variable, '')} {added}".strip()
    subprocess.run([os.environ.get("CARGO", "cargo"), *BUILD], check=True, cwd=common.ROOT, env=environment)
    return target / "dist" / "liboriel.so"


def obstacle(compiler, merger):
    """Why counts cannot be used; none if they can."""
    for program in (compiler, merger):
        if not program.exists():
            return f"there is no {program}"
    versions = []
    for command in (["rustc", "-vV"], [merger, "--version"]):
        text = common.run(command).stdout
        versions.append(re.search(r"LLVM version:? (\d+)", text)[1])
    if versions[0] != versions[1]:
        return f"rustc has LLVM {versions[0]}, and {merger} is of LLVM {versions[1]}"
    return None


def compile_examples(plugin, counts):
    """Compiles every example with the plug-in, which writes its counts to a folder."""
    environment = dict(os.environ, LLVM_PROFILE_FILE=str(counts / "%m-%p.profraw"))
    with tempfile.TemporaryDirectory() as folder:

        def compile_one(source):
            bitcode = Path(folder) / f"{str(source).replace(os.sep, '_')}.bc"
            common.run(examples.clang_command(source, bitcode))
            llc = examples.llc_command(bitcode, os.devnull, opt_level="3")
            common.run([*llc, f"-load={plugin}"], env=environment)

        common.parallel("counts", compile_one, examples.examples())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without-counts", action="store_true", help="in half the time, for tests")
    arguments = parser.parse_args()
    target = common.target_dir().absolute()
    compiler, merger = (common.llvm_bin() / name for name in ("clang++", "llvm-profdata"))
    if reason := "--without-counts" if arguments.without_counts else obstacle(compiler, merger):
        print(f"build_dist.py: built without counts of branches: {reason}", file=sys.stderr)
        build(target)
        return
    counts = target / "counts"
    merged = counts / "merged.profdata"
    instrumented = build(target / "instrumented", compiler, f"profile-generate={counts}")
    # New counts build everything anew.
    if not merged.exists() or merged.stat().st_mtime < instrumented.stat().st_mtime:
        # What the build itself ran was instrumented, too.
        shutil.rmtree(counts, ignore_errors=True)
        counts.mkdir()
        compile_examples(instrumented, counts)
        common.run([merger, "merge", "-o", merged, *counts.glob("*.profraw")])
    build(target, compiler, f"profile-use={merged}")


if __name__ == "__main__":
    main()
