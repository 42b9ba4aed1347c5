#!/usr/bin/env python3
"""Compiles every example with each phase alone, at each stage that it accepts, and checks the result.

    scripts/check_phases.py [--sm 80,90] [-O 2] [--phases NAME,NAME@late] [--every N] [--share N] [--light] [SOURCE ...]

Oriel's verifier runs after the phase and LLVM's after the function was changed; no function may be refused by
either. Control flow and liveness are compared with LLVM's. PTX that differs from that of llc alone goes through
ptxas, where that is installed. Where the interpreter can run the example, `oriel differential` runs its launches: they
give the same memory after each phase, after the pipeline and after random lists of phases as before, and so does what
the back end makes of the functions after phases of the first stage. The table says how many functions each phase
changed and what it counted. Phases that aim at a register budget get a small one, so that they have work. With --light
clang leaves its IR as it is, as simple front ends do. With --share each source gets only every
N-th phase, and its neighbours others.
"""

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import common
import examples
import ptxas

STAGES = ("ssa", "late")
REGISTER_BUDGET = "12"


def problem_with(option):
    """What llc with the plug-in says of an option of Oriel's."""
    command = [common.llvm_bin() / "llc", f"-load={common.plugin()}", option, "-o", "/dev/null", "/dev/null"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def all_phases():
    """NAME@STAGE of each phase and each stage that it accepts."""
    names = re.search(r"phases are: (.*)", problem_with("-oriel-phases=?")).group(1).split(", ")
    selections = [f"{name}@{stage}" for name in names for stage in STAGES]
    return [selection for selection in selections if not problem_with(f"-oriel-phases={selection}")]


def check(work):
    """Compiles and runs one source with each phase; problems, what the reports have by phase, and comparisons."""
    source, sm, level, phases, light = work
    problems, results, comparisons = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        bitcode, plain, ptx, report = (Path(folder) / file for file in ("in.bc", "plain.ptx", "out.ptx", "report"))
        common.run(examples.clang_command(source, bitcode, sm, level, light=light))
        common.run(examples.llc_command(bitcode, plain, sm, level))
        run = [common.tool(), "exec", bitcode, "--sm", sm, "-O", level]
        run += ["--launch", (common.ROOT / source).with_suffix(".toml")]
        is_modelled = subprocess.run(run, capture_output=True, check=False).returncode == 0
        for phase in phases:
            name = f"{source} sm_{sm} -O{level} {phase}"
            command = [*examples.llc_command(bitcode, ptx, sm, level), f"-load={common.laboratory()}"]
            command += [f"-oriel-register-budget={REGISTER_BUDGET}", f"-oriel-phases={phase}", "-oriel-verify", "-oriel-check-control-flow"]
            try:
                if printed := common.run([*command, f"-oriel-report={report}"]).stderr:
                    problems.append(f"{name}: {printed}")
                is_changed = ptx.read_bytes() != plain.read_bytes()
                if is_changed and (assembler := ptxas.executable()) and sm in examples.PTXAS_SM_VERSIONS:
                    common.run([assembler, f"-arch=sm_{sm}", ptx, "-o", Path(folder) / "out.cubin"])
            except RuntimeError as error:
                problems.append(f"{name}: {error}")
                continue
            lines = [json.loads(line) for line in report.read_text().splitlines()]
            if not any("phases" in line for line in lines):
                problems.append(f"{name}: the phase did not run")
            results.append((phase, is_changed, lines))
        if is_modelled:
            # All phases at once, in one process; cases that go wrong are saved below build/.
            names = dict.fromkeys(phase.partition("@")[0] for phase in phases)
            command = [common.tool(), "differential", bitcode, "--sm", sm, "-O", level, "--jobs", "1"]
            command += ["--launch", (common.ROOT / source).with_suffix(".toml"), "--phases", ",".join(names)]
            command += ["--register-budget", REGISTER_BUDGET]
            command += ["--save", common.ROOT / "build" / "differential"]
            try:
                printed = common.run(command).stdout
                comparisons = int(re.search(r"(\d+) comparisons", printed).group(1))
                comparisons += int(re.search(r"(\d+) through machine code", printed).group(1))
            except RuntimeError as error:
                problems.append(f"{source} sm_{sm} -O{level}: {error}")
    return problems, results, comparisons


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--sm", default="80,90")
    parser.add_argument("-O", dest="levels", default="2")
    parser.add_argument("--phases", help="NAME@STAGE, separated by commas [default: all, at both stages]")
    parser.add_argument("--light", action="store_true", help="without LLVM's passes over the IR of the examples")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th source")
    parser.add_argument("--share", type=int, default=1, metavar="N", help="only every N-th phase for each source")
    arguments = parser.parse_args()
    phases = arguments.phases.split(",") if arguments.phases else all_phases()
    work = [
        (source, sm, level, own_phases, arguments.light)
        for number, source in enumerate((arguments.sources or examples.examples())[:: arguments.every])
        if (own_phases := common.share(phases, number, arguments.share))
        for sm in arguments.sm.split(",")
        for level in arguments.levels.split(",")
    ]
    results = common.parallel("each phase alone", check, work)
    problems = [problem for found, _, _ in results for problem in found]
    print("".join(f"FAIL {problem}\n" for problem in problems), end="")
    functions, changed, modules = (collections.Counter() for _ in range(3))
    counters = collections.defaultdict(collections.Counter)
    for _, found, _ in results:
        for phase, is_changed, lines in found:
            modules[phase] += is_changed
            for line in lines:
                for values in line.get("phases", {}).values():
                    functions[phase] += 1
                    changed[phase] += line["outcome"] == "changed"
                    counters[phase].update(values)
    for phase in phases:
        counted = ", ".join(f"{name} {value}" for name, value in sorted(counters[phase].items()))
        print(f"{phase}: {functions[phase]} functions, {changed[phase]} changed, "
              f"PTX of {modules[phase]} modules differs; {counted}")
    print(f"{len(work)} configurations of {len(phases)} phases and stages, {len(problems)} problems, "
          f"{sum(comparisons for _, _, comparisons in results)} comparisons in the interpreter"
          f"{'' if ptxas.executable() else '; ptxas is not installed'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
