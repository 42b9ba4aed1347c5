#!/usr/bin/env python3
"""Compiles very many modules with every check of Oriel's and LLVM's switched on, and looks for crashes, findings and code that
depends on debug information.

    scripts/soak.py [--generated 5000] [--seed 1] [--examples all|none] [--sm 52,75,80,90,100] [-O 1,2,3] [SOURCE ...]

Sources are the examples, each in every configuration, and generated modules, each in the configuration that follows from its
number. Every one is compiled by llc with `-oriel-verify`, `-oriel-check-intervals`, `-oriel-check-control-flow` and
`-verify-machineinstrs`, in profile `max` with further phases, with debug information and without. The two results have to have the same instructions.
Where LLVM's verifier has a finding without Oriel as well, the module is compiled without that verifier, and counted; so are the modules
of which llc alone makes other code if they have debug information.

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


def generate(number, path):
    """Writes the generated module of a number, with debug information."""
    command = [common.tool(), "generate", "--seed", str(number), "--shape", SHAPES[number % len(SHAPES)],
               "--instructions", str(20 + 37 * (number % 23)), "--functions", str(1 + number % 2),
               "--block-size", str(1 + number % 12), "--long-lived", str(number % 7 * 5), "-g", "-o", str(path)]
    common.run(command + (["--calls"] if number % 3 == 0 else []))


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


def make_modules(source, sm, folder):
    """Writes the module of a source or number with debug information and without; both files, the second without it."""
    end = "ll" if isinstance(source, int) else "bc"
    debug, stripped = Path(folder) / f"debug.{end}", Path(folder) / f"stripped.{end}"
    if isinstance(source, int):
        generate(source, debug)
    else:
        common.run(examples.clang_command(source, debug, sm, "2", debug=True))
    # clang's own passes may give other code for -g, so it is the same module, stripped.
    strip = [common.llvm_bin() / "opt", "--strip-debug", "-passes=verify", debug, "-o", stripped]
    common.run(strip + (["-S"] if end == "ll" else []))
    return debug, stripped


def first_difference(one, other):
    """The first lines that differ between two codes; none if none do."""
    if one == other:
        return None
    return next((pair for pair in zip(one, other) if pair[0] != pair[1]), ("", "one has more lines"))


def check(item):
    """What is found in one configuration, and what is LLVM's own: how often its verifier was left out, and whether its code depends
    on debug information."""
    source, sm, level, save = item
    is_generated = isinstance(source, int)
    name = f"{f'generated {source}' if is_generated else source} sm_{sm} -O{level}"
    left_out, codes = 0, []
    with tempfile.TemporaryDirectory() as folder:
        ptx = Path(folder) / "out.ptx"
        try:
            modules = make_modules(source, sm, folder)
        except RuntimeError as error:
            return f"{name}: {error}", left_out, False
        for module in modules:
            problem, is_left_out = compile_checked(module, ptx, sm, level)
            left_out += is_left_out
            if problem:
                if save and is_generated:
                    shutil.copy(module, Path(save) / f"{source}.sm_{sm}.O{level}.{module.name}")
                return f"{name} {module.stem}: {problem}", left_out, False
            codes.append(code_of(ptx.read_text()))
        difference = first_difference(*codes)
        if difference is None:
            return "", left_out, False
        of_llc = []
        for module in modules:
            common.run(examples.llc_command(module, ptx, sm, level))
            of_llc.append(code_of(ptx.read_text()))
    if first_difference(*of_llc):
        return "", left_out, True
    return f"{name}: debug information changes the code: '{difference[1].strip()}' became '{difference[0].strip()}'", left_out, False


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
    problems = [problem for problem, _, _ in results if problem]
    print("".join(f"FAIL {problem}\n" for problem in problems), end="")
    if left_out := sum(number for _, number, _ in results):
        print(f"{left_out} compilations without {LLVM_CHECK}, of which llc alone does not pass either")
    if of_llc := sum(is_of_llc for _, _, is_of_llc in results):
        print(f"{of_llc} configurations in which debug information changes what llc alone makes")
    print(f"soak: {len(work) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
