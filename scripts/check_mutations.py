#!/usr/bin/env python3
"""Damaged snapshot files and damaged plans: each is refused with a message or valid; nothing crashes.

    scripts/check_mutations.py [--snapshots 10000] [--proofs 10000] [--plans 10000] [--seed 0]

Snapshots are those of the examples, at both stages. Plans are damaged inside llc, on generated functions: a plan
that is accepted has passed LLVM's verifier, and llc has compiled the result to the end.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import common
import examples

FUNCTIONS_A_MODULE = 25


def export(source, folder):
    """Writes the snapshots of a source's functions."""
    bitcode = folder / f"{Path(source).stem}.bc"
    common.run(examples.clang_command(source, bitcode))
    snapshots = folder / Path(source).stem
    snapshots.mkdir()
    llc = examples.llc_command(bitcode, "/dev/null")
    common.run([*llc, f"-load={common.plugin()}", "-oriel=analyze", f"-oriel-snapshot={snapshots}"])
    return sorted(snapshots.iterdir())


def damage_snapshots(path, copies, seed):
    """(still valid, refused) among the damaged copies of a file."""
    printed = common.run([common.tool(), "snapshot", "--check", f"--damage={copies}", f"--seed={seed}", path]).stdout
    match = re.search(r"(\d+) still valid, (\d+) refused", printed)
    return int(match.group(1)), int(match.group(2))


def damage_proofs(path, copies, seed):
    """(refused, proved, not proved) when damaged copies of a file are compared with the file."""
    command = [common.tool(), "validate", f"--damage={copies}", f"--seed={seed}", path, path]
    match = re.search(r"(\d+) refused, (\d+) proved, (\d+) not", common.run(command).stdout)
    return tuple(int(number) for number in match.groups())


def damage_plans(seed, folder):
    """(plans, refused or put back) of one generated module."""
    module = folder / f"plans-{seed}.ll"
    size = 20 + seed * 7 % 180
    shapes = ("structured", "switches", "self-loops", "irreducible", "random", "mixed")
    common.run([common.tool(), "generate", f"--functions={FUNCTIONS_A_MODULE}", f"--instructions={size}", f"--seed={seed}",
                f"--shape={shapes[seed % len(shapes)]}", "-o", module])
    command = [common.llvm_bin() / "llc", "-O2", "-mcpu=sm_80", module, "-o", "/dev/null", "-verify-machineinstrs",
               f"-load={common.laboratory()}", f"-oriel-inject-fault=mutated-plan:{seed}", "-oriel-verify"]
    printed = common.run(command).stderr.splitlines()
    unexpected = [line for line in printed if "is left as LLVM made it: " not in line]
    if unexpected:
        raise RuntimeError("\n".join(unexpected))
    module.unlink()
    return 2 * FUNCTIONS_A_MODULE, len(printed)


def attempt(work, *arguments):
    """The result of `work`, or the text of what went wrong."""
    try:
        return work(*arguments)
    except (RuntimeError, OSError) as error:
        return str(error)


def report(what, results):
    """Prints totals and problems; the number of problems."""
    problems = [result for result in results if isinstance(result, str)]
    totals = [sum(numbers) for numbers in zip(*(result for result in results if not isinstance(result, str)))]
    print(what.format(*totals))
    print("".join(f"FAIL {problem}\n" for problem in problems), end="")
    return len(problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--snapshots", type=int, default=10000)
    parser.add_argument("--proofs", type=int, default=10000)
    parser.add_argument("--plans", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exported = common.parallel("snapshots", lambda source: attempt(export, source, folder), examples.examples())
        files = [path for paths in exported if not isinstance(paths, str) for path in paths]
        failures = report("", [paths for paths in exported if isinstance(paths, str)])
        copies = -(-arguments.snapshots // len(files))
        results = common.parallel("damaged snapshots",
                                  lambda path: attempt(damage_snapshots, path, copies, arguments.seed), files)
        failures += report("damaged snapshots: {} still valid, {} refused", results)
        copies = -(-arguments.proofs // len(files))
        results = common.parallel("damaged proofs", lambda path: attempt(damage_proofs, path, copies, arguments.seed), files)
        failures += report("damaged proofs: {} refused, {} proved, {} not", results)
        modules = -(-arguments.plans // (2 * FUNCTIONS_A_MODULE))
        results = common.parallel("damaged plans", lambda seed: attempt(damage_plans, seed, folder),
                                  range(arguments.seed, arguments.seed + modules))
        failures += report("damaged plans: {}, of them {} refused or put back", results)
    print(f"mutations: {2 * len(files) + modules - failures} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
