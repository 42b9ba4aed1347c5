#!/usr/bin/env python3
"""Judges whole compilations by ptxas: llc alone, Oriel's profile `ptxas`, and its profile `max`.

    scripts/compare.py [--sm 80,90,120] [-O 3] [--generated 40] [--limit 64] [--time] [--bisect] [--tune] [--json FILE]
                       [SOURCE|FOLDER ...]

Sources are the examples and generated kernels if none are named; of a folder, its modules (*.ll, *.bc). Each is compiled for every SM
in the three ways. For each kernel and way: PTX instructions, registers, spilled bytes (stores and loads) without a limit and with
`--maxrregcount`, stack, SASS instructions, and warps a multiprocessor holds; with --time ptxas' CPU time by source, the least of
three runs. Printed are totals, what is better and worse, and the ten worst kernels of each figure; --json has every kernel. A
tool that fails on a source is listed with what it said, and the source is left out of the totals for that SM in all three ways.
With --tune there are two more ways: `tuned`, what `oriel tune` finds for the whole module with the fewest registers for its goal, and
`limited`, the same with limits of registers for ptxas among what it tries. With --bisect, phases are switched off one by one for every kernel that profile `max` makes worse, to find out which ones do it.

Everything but times is the same in every run. The exit status is 1 if a tool failed.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import common
import examples
import judging
import ptxas

WAYS = {"llc": None, "ptxas": ["-oriel-profile=ptxas"], "max": ["-oriel-profile=max"]}
# How `oriel tune` is called for more ways.
TUNED = {"tuned": [], "limited": ["--limits"]}
# In which more is worse; of warps, less is.
FIGURES = ("ptx_instructions", "registers", "spill_bytes", "spill_bytes_at_limit", "stack_bytes", "sass_instructions", "warps")
# What profile `max` is not to make worse.
JUDGED = ("registers", "spill_bytes", "spill_bytes_at_limit", "sass_instructions")


class Failure(Exception):
    """A tool failed: which, and what it said."""


def done_by(tool, work, *arguments):
    """The result of work that runs a tool; Failure with the tool's message if that fails."""
    try:
        return work(*arguments)
    except RuntimeError as problem:
        # The first line is the exit status with the command.
        lines = [line for line in str(problem).splitlines()[1:] if line.strip()]
        said = next((line for line in lines if "error" in line.lower()), lines[0] if lines else str(problem))
        raise Failure(f"{tool}: {said}") from problem


def generated(folder, count, seed):
    """Writes kernels of several sizes and shapes; their paths."""
    shapes = ("mixed", "structured", "straight", "switches")
    paths = []
    for number in range(count):
        path = Path(folder) / f"generated-{seed + number}.ll"
        size = 60 + 70 * (number % 13)
        command = [common.tool(), "generate", "--shape", shapes[number % len(shapes)], "--seed", str(seed + number),
                   "--instructions", str(size), "--long-lived", str(number % 5 * 6), "-o", str(path)]
        done_by("oriel generate", common.run, command)
        paths.append(path)
    return paths


def compile_way(bitcode, folder, way, sm, arguments, options):
    """PTX by a way with these options, or by llc alone if they are None, and the report's lines of stage `late`."""
    ptx, report = Path(folder) / f"{way}.ptx", Path(folder) / f"{way}.json"
    command = examples.llc_command(bitcode, ptx, sm, arguments.level)
    if options is not None:
        command += [f"-load={common.plugin()}", f"-oriel-report={report}", *options]
    done_by(f"llc ({way})", common.run, command)
    # Oriel writes none where it is switched off.
    lines = report.read_text().splitlines() if report.exists() else []
    return ptx, [line for line in map(json.loads, lines) if line["stage"] == "late"]


def assemble(program, ptx, folder, sm, limit=0):
    """By function: registers, spilled bytes, stack, SASS instructions."""
    found = done_by("ptxas", ptxas.figures, program, ptx, Path(folder) / "out.cubin", sm, limit)
    for figures in found.values():
        figures["spill_bytes"] = figures.pop("spill_store_bytes", 0) + figures.pop("spill_load_bytes", 0)
    # Device functions that ptxas takes into their callers have no registers of their own.
    return {name: figures for name, figures in found.items() if "registers" in figures}


def warps(registers, line):
    """Warps that a multiprocessor holds of a kernel with so many registers; none of what is no kernel."""
    threads = line.get("occupancy_threads_per_block")
    if threads is None:
        return None
    command = [common.tool(), "occupancy", "--sm", str(line["sm"]), "--threads", str(threads), "--registers", str(registers),
               "--shared", str(line["static_shared_bytes"]), "--json"]
    return json.loads(done_by("oriel occupancy", common.run, command).stdout)["occupancy_warps_per_sm"]


def tune(bitcode, folder, way, sm, arguments):
    """PTX with the options that `oriel tune` finds."""
    version = examples.ptx_feature(sm).removeprefix("+ptx")
    command = [common.tool(), "tune", "--sm", sm, "--ptx", version, f"-O{arguments.level}", "--jobs", "1", "--json", *TUNED[way], bitcode]
    found = json.loads(done_by("oriel tune", common.run, command).stdout)
    flags = [*found["flags"].split(), *found.get("llvm_flags", "").split()]
    ptx, _ = compile_way(bitcode, folder, way, sm, arguments, flags)
    return ptx


def figures_of(program, ptx, folder, sm, lines, limit):
    """The figures of each function of a PTX file, which ptxas may get with a limit of registers."""
    found = assemble(program, ptx, folder, sm)
    limited = assemble(program, ptx, folder, sm, limit)
    counts = common.count_ptx_instructions(ptx.read_text())
    by_name = {line["function"]: line for line in lines}
    for name, figures in found.items():
        figures["ptx_instructions"] = counts[name]
        figures["spill_bytes_at_limit"] = limited[name]["spill_bytes"]
        figures["warps"] = warps(figures["registers"], by_name.get(name, {}))
    return found


def is_worse(before, after, figure):
    """Is a figure worse than it was?"""
    return judging.is_better(figure, before[figure], after[figure])


def bisect(program, bitcode, folder, sm, kernel, arguments):
    """The phases without which profile `max` does not make a kernel worse, by figure that it makes worse."""
    before, after = kernel["llc"], kernel["max"]
    worse = [figure for figure in JUDGED if is_worse(before, after, figure)]
    culprits = {figure: [] for figure in worse}
    for phase in (phases_of_max() if worse else ()):
        options = [*WAYS["max"], f"-oriel-disable-phases={phase}"]
        ptx, lines = compile_way(bitcode, folder, "max", sm, arguments, options)
        without = figures_of(program, ptx, folder, sm, lines, arguments.limit).get(kernel["function"])
        for figure in worse:
            if without and not is_worse(before, without, figure):
                culprits[figure].append(phase)
    return culprits


def phases_of_max():
    """The phases of profile `max`, a group once."""
    text = common.run([common.tool(), "phases", "--json"]).stdout
    rows = [json.loads(line) for line in text.splitlines()]
    return list(dict.fromkeys(row["name"] for row in rows if "max" in row["profiles"]))


def compare(work):
    """A source for an SM in the three ways: its kernels, ptxas' seconds, and the failure if there is one."""
    source, sm, program, arguments = work
    result = {"source": str(source) if not Path(source).is_absolute() else Path(source).name, "sm": sm, "kernels": []}
    with tempfile.TemporaryDirectory() as folder:
        try:
            bitcode = done_by("clang", examples.bitcode_of, source, folder, sm)
            made = {way: compile_way(bitcode, folder, way, sm, arguments, options) for way, options in WAYS.items()}
            lines = made["max"][1]
            found = {way: figures_of(program, ptx, folder, sm, lines, arguments.limit) for way, (ptx, _) in made.items()}
            for way in TUNED if arguments.tune else ():
                ptx = tune(bitcode, folder, way, sm, arguments)
                found[way] = figures_of(program, ptx, folder, sm, lines, arguments.limit)
            for name in sorted(found["llc"]):
                kernel = {"function": name, **{way: figures[name] for way, figures in found.items()}}
                if arguments.bisect:
                    kernel["worse_by"] = bisect(program, bitcode, folder, sm, kernel, arguments)
                result["kernels"].append(kernel)
            if arguments.time:
                cubin = Path(folder) / "out.cubin"
                runs = [{way: ptxas.seconds(program, ptx, cubin, sm) for way, (ptx, _) in made.items()} for _ in range(3)]
                result["ptxas_seconds"] = {way: min(run[way] for run in runs) for way in WAYS}
        except Failure as failure:
            result["kernels"], result["failure"] = [], str(failure)
    return result


def print_totals(title, kernels):
    """Sums over kernels, and how many are better and worse than by llc alone."""
    print(f"\n{title}: {len(kernels)} functions")
    ways = [way for way in (*WAYS, *TUNED) if kernels and way in kernels[0]][1:]
    print(f"{'':22}{'llc':>12}" + "".join(f"{way:>12}{'':>8}{'better':>8}{'worse':>7}" for way in ways))
    for figure in FIGURES:
        known = [kernel for kernel in kernels if all(kernel[way][figure] is not None for way in WAYS)]
        base, _, _ = judging.totals(known, "llc", figure)
        row = f"{figure.replace('_', ' '):22}{base:>12}"
        for way in ways:
            total, better, worse = judging.totals(known, way, figure)
            share = f"{100 * (total / base - 1):+.2f}%" if base else ""
            row += f"{total:>12}{share:>8}{better:>8}{worse:>7}"
        print(row)


def print_worst(kernels):
    """The ten kernels that profile `max` makes worst, for each figure that it is not to make worse."""
    for figure in JUDGED:
        worse = [kernel for kernel in kernels if is_worse(kernel["llc"], kernel["max"], figure)]
        worse.sort(key=lambda kernel: (kernel["llc"][figure] - kernel["max"][figure], kernel["name"]))
        if worse:
            print(f"\nworst by {figure.replace('_', ' ')}, of {len(worse)}:")
        for kernel in worse[:10]:
            culprits = kernel.get("worse_by", {}).get(figure)
            by = f"  ({', '.join(culprits) or 'no phase alone'})" if culprits is not None else ""
            print(f"  {kernel['name']}: {kernel['llc'][figure]} -> {kernel['max'][figure]}{by}")


def sources_of(arguments, folder):
    """What is compiled."""
    if not arguments.sources:
        return examples.examples() + generated(folder, arguments.generated, arguments.seed)
    return [path.resolve() if path.suffix in examples.MODULES else path for path in examples.sources_of(arguments.sources)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--sm", default="80,90,120")
    parser.add_argument("-O", dest="level", default="3", choices=examples.OPT_LEVELS)
    parser.add_argument("--generated", type=int, default=40, help="kernels that are generated; 0 for none")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first of them")
    parser.add_argument("--limit", type=int, default=64, help="the --maxrregcount that spilled bytes are also counted at")
    parser.add_argument("--time", action="store_true", help="also time ptxas")
    parser.add_argument("--bisect", action="store_true", help="find the phases that make kernels worse")
    parser.add_argument("--tune", action="store_true", help="also find the best options for each source, by oriel tune")
    parser.add_argument("--json", help="write everything to this file")
    arguments = parser.parse_args()
    program = ptxas.required()
    with tempfile.TemporaryDirectory() as folder:
        sources = sources_of(arguments, folder)
        work = [(source, sm, program, arguments) for sm in arguments.sm.split(",") for source in sources]
        results = common.parallel("compare", compare, work)
    kernels = [{"name": f"{Path(result['source']).stem}:{kernel['function']} sm_{result['sm']}", "sm": result["sm"], **kernel}
               for result in results for kernel in result["kernels"]]
    for sm in arguments.sm.split(","):
        print_totals(f"sm_{sm} -O{arguments.level}", [kernel for kernel in kernels if kernel["sm"] == sm])
    if "," in arguments.sm:
        print_totals("all", kernels)
    if arguments.time:
        timed = [result["ptxas_seconds"] for result in results if "ptxas_seconds" in result]
        sums = {way: sum(seconds[way] for seconds in timed) for way in WAYS}
        print("\nseconds of ptxas: " + ", ".join(f"{way} {seconds:.2f} ({100 * (seconds / sums['llc'] - 1):+.1f}%)"
                                                 for way, seconds in sums.items()))
    print_worst(kernels)
    failures = [result for result in results if "failure" in result]
    for result in failures:
        print(f"FAILED {result['source']} sm_{result['sm']}: {result['failure']}")
    print(f"\ncompare: {len(results) - len(failures)} compilations in {len(WAYS)} ways, {len(failures)} failed")
    if arguments.json:
        settings = {name: getattr(arguments, name) for name in ("sm", "level", "generated", "seed", "limit")}
        Path(arguments.json).write_text(json.dumps({"settings": settings, "results": results}, indent=1) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
