#!/usr/bin/env python3
"""Compiles very many modules with every check of Oriel's and LLVM's switched on, and looks for crashes, findings and code that
depends on debug information.

    scripts/soak.py [--generated 5000] [--seed 1] [--examples all|none] [--sm 52,75,80,90,100] [-O 1,2,3] [SOURCE ...]

Sources are the examples, each in every configuration, and generated modules, each in the configuration that follows from its
number. Every one is compiled by llc with `-oriel-verify`, `-oriel-check-intervals`, `-oriel-check-control-flow` and
`-verify-machineinstrs`, in profile `max` with further phases, with debug information and without. The two results have to have the same instructions.
Where LLVM's verifier has a finding without Oriel as well, the module is compiled without that verifier, and counted.

The exit status is 1 if something was found; generated modules that show it are kept in the folder that --save names.
"""

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

import common
import examples

SHAPES = ("structured", "straight", "self-loops", "switches", "huge-switch", "irreducible", "infinite-loops", "parallel-edges",
          "empty-blocks", "random", "mixed")
CHECKS = [
    "-oriel-verify", "-oriel-check-intervals", "-oriel-check-control-flow", "-oriel-profile=max", "-oriel-least-pressure=0",
    "-oriel-enable-phases=GeneralOptimizeMid2,OriCommonConstants,SpeculativeHoistCommonInsts,LateOriCommoning",
]
LLVM_CHECK = "-verify-machineinstrs"
# What debug information adds to PTX: directives, its labels, and sections behind the code.
DEBUG_LINE = re.compile(r"\s*(\.loc\s|\.file\s|\$L__tmp\d+:|\$L__func_(begin|end)\d+:|//)")
DEBUG_SECTION = re.compile(r"\s*\.section\s+\.debug")


def code_of(ptx):
    """The lines of PTX that have nothing to do with debug information."""
    lines = []
    for line in ptx.splitlines():
        if DEBUG_SECTION.match(line):
            break
        line = line.replace(", debug", "").split("//")[0].rstrip()
        if line.strip() and not DEBUG_LINE.match(line):
            lines.append(line)
    return lines


def generate(number, debug, path):
    """Writes the generated module of a number; the one without debug information is the other, stripped."""
    command = [common.tool(), "generate", "--seed", str(number), "--shape", SHAPES[number % len(SHAPES)],
               "--instructions", str(20 + 37 * (number % 23)), "--functions", str(1 + number % 2),
               "--block-size", str(1 + number % 12), "--long-lived", str(number % 7 * 5), "-g", "-o", str(path)]
    common.run(command + (["--calls"] if number % 3 == 0 else []))
    if not debug:
        common.run([common.llvm_bin() / "opt", "-S", "--strip-debug", "-passes=verify", path, "-o", path])


def configurations(arguments):
    """What is compiled: source or number, SM, level."""
    sms, levels = arguments.sm.split(","), arguments.level.split(",")
    sources = arguments.sources or (examples.examples() if arguments.examples == "all" else [])
    work = [(source, sm, level) for source in sources for sm in sms for level in levels]
    for number in range(arguments.seed, arguments.seed + arguments.generated):
        work.append((number, sms[number % len(sms)], levels[number // len(sms) % len(levels)]))
    return work


def compile_checked(module, ptx, sm, level):
    """Compiles with all checks; what was found, and whether LLVM's verifier had to be left out."""
    command = examples.llc_command(module, ptx, sm, level)
    checked = [*command, f"-load={common.laboratory()}", *CHECKS]
    problem = examples.run_quietly([*checked, LLVM_CHECK])
    if problem and examples.run_quietly([*command, LLVM_CHECK]):
        return examples.run_quietly(checked), True
    return problem, False


def check(item):
    """What is found in one configuration, and how often LLVM's verifier was left out."""
    source, sm, level, save = item
    is_generated = isinstance(source, int)
    name = f"{f'generated {source}' if is_generated else source} sm_{sm} -O{level}"
    left_out, codes = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for debug in (False, True):
            module = Path(folder) / f"in{'.ll' if is_generated else '.bc'}"
            ptx = Path(folder) / "out.ptx"
            try:
                if is_generated:
                    generate(source, debug, module)
                else:
                    common.run(examples.clang_command(source, module, sm, "2", debug))
            except RuntimeError as error:
                return f"{name}: {error}", left_out
            problem, is_left_out = compile_checked(module, ptx, sm, level)
            left_out += is_left_out
            if problem:
                if save and is_generated:
                    shutil.copy(module, Path(save) / f"{source}.sm_{sm}.O{level}{'.g' if debug else ''}.ll")
                return f"{name}{' -g' if debug else ''}: {problem}", left_out
            codes.append(code_of(ptx.read_text()))
    if codes[0] != codes[1]:
        first = next((pair for pair in zip(*codes) if pair[0] != pair[1]), ("", "one has more lines"))
        return f"{name}: -g changes the code: '{first[0].strip()}' became '{first[1].strip()}'", left_out
    return "", left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--generated", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", choices=("all", "none"), default="all")
    parser.add_argument("--sm", default=",".join(examples.SM_VERSIONS).replace("50", "52").replace("70", "75"))
    parser.add_argument("-O", dest="level", default="1,2,3")
    parser.add_argument("--save", help="keep generated modules that show something here")
    arguments = parser.parse_args()
    if arguments.save:
        Path(arguments.save).mkdir(parents=True, exist_ok=True)
    work = [(*configuration, arguments.save) for configuration in configurations(arguments)]
    results = common.parallel("soak", check, work)
    problems = [problem for problem, _ in results if problem]
    print("".join(f"FAIL {problem}\n" for problem in problems), end="")
    if left_out := sum(number for _, number in results):
        print(f"{left_out} compilations without {LLVM_CHECK}, of which llc alone does not pass either")
    print(f"soak: {len(work) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
