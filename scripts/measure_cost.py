#!/usr/bin/env python3
"""What Oriel costs a compilation: its time as a share of llc's, over all examples; time and memory of large modules.

    scripts/measure_cost.py [-O 3] [--sm 90] [--repetitions 5] [--profile max] [--report]
                            [--large 10000,100000,1000000 [--function-size 1000]] [SOURCE ...]

Examples (or these sources, of folders their modules): llc alone and llc with the plug-in run in turns, one at a time. For both the
CPU time of the process counts, the least of so many runs. `share` is what the plug-in adds to it, by Oriel's own clock (the report's export_ns, library_ns
and apply_ns, the least of as many runs with a report) over llc's time; `process` is what the whole process takes longer, loading the
plug-in included. Printed are the sums over all, and the modules of more than 50 ms with the highest shares. Sources that llc alone
refuses are left out.

With --report it is the report that is measured instead of the phases: -oriel=analyze with -oriel-report, whose analysis_ns counts too.

With --large it is generated modules of so many instructions instead, in one function or in several of --function-size: seconds of llc, of
Oriel, nanoseconds an instruction of both, and by how many bytes an instruction the process's peak of resident memory is higher with
the plug-in than without.

Times are those of this machine while nothing else runs on it; nothing here passes or fails.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import common
import examples

OURS = ("export_ns", "library_ns", "apply_ns", "analysis_ns")
# Modules of less are mostly llc's start.
LONG = 0.050


def measure(bitcode, folder, arguments, repetitions):
    """Least seconds of llc alone, with the plug-in, and by Oriel's clock; least peaks of memory; instructions and phases' times."""
    ptx, report = folder / "out.ptx", folder / "report.json"
    alone = examples.llc_command(bitcode, ptx, arguments.sm, arguments.level)
    loaded = [*alone, f"-load={common.plugin()}"]
    reported = [*loaded, f"-oriel-report={report}"]
    if arguments.report:
        loaded = reported = [*reported, "-oriel=analyze"]
    else:
        loaded.append(f"-oriel-profile={arguments.profile}")
        reported.append(f"-oriel-profile={arguments.profile}")
    keys = OURS if arguments.report else OURS[:3]
    found = {"alone": [], "loaded": [], "memory_alone": [], "memory_loaded": [], "ours": []}
    for _ in range(repetitions):
        for name, command in (("alone", alone), ("loaded", loaded)):
            seconds, memory = common.spent(command)
            found[name].append(seconds)
            found[f"memory_{name}"].append(memory)
        common.run(reported)
        lines = [json.loads(line) for line in report.read_text().splitlines()]
        found["ours"].append(sum(line[key] for line in lines for key in keys) / 1e9)
    least = {name: min(values) for name, values in found.items()}
    least["instructions"] = sum(line["instructions_in"] for line in lines if line["stage"] == "ssa")
    return least


def over_sources(sources, folder, arguments):
    """Sums and the worst."""
    progress = common.Progress("cost", len(sources))
    rows = []
    for source in sources:
        bitcode = examples.bitcode_of(source, folder, arguments.sm)
        try:
            rows.append((str(source), measure(bitcode, folder, arguments, arguments.repetitions)))
        except RuntimeError as error:
            # Whatever the plug-in does not cause is not its concern.
            if "-load=" in str(error):
                raise
        progress.step()
    alone, loaded, ours = (sum(row[name] for _, row in rows) for name in ("alone", "loaded", "ours"))
    subject = "report" if arguments.report else f"profile {arguments.profile}"
    print(f"{len(rows)} modules, sm_{arguments.sm} -O{arguments.level}, {subject}: llc {alone:.3f} s, Oriel {ours:.3f} s: "
          f"share {100 * ours / alone:.2f} %, process {100 * (loaded / alone - 1):+.2f} %")
    long = sorted(((row["ours"] / row["alone"], source, row) for source, row in rows if row["alone"] > LONG), reverse=True)
    print(f"{len(long)} modules of more than {LONG * 1000:.0f} ms; the highest shares:")
    for share, source, row in long[:5]:
        print(f"  {100 * share:5.2f} %  {source}: {row['alone'] * 1000:.0f} ms, Oriel {row['ours'] * 1000:.1f} ms")


def large(sizes, folder, arguments):
    """A row for each size."""
    print(f"{'instructions':>12} {'llc s':>8} {'Oriel s':>8} {'share':>7} {'llc ns':>8} {'Oriel ns':>8} {'bytes':>8}")
    for size in sizes:
        source = folder / "large.ll"
        function = min(arguments.function_size or size, size)
        common.run([common.tool(), "generate", "--shape", "structured", "--seed", "1", "--instructions", str(function),
                    "--functions", str(size // function), "-o", source])
        row = measure(source, folder, arguments, 1 if size > 200_000 else 3)
        count = row["instructions"]
        extra = row["memory_loaded"] - row["memory_alone"]
        print(f"{count:>12} {row['alone']:>8.2f} {row['ours']:>8.3f} {100 * row['ours'] / row['alone']:>6.2f}% "
              f"{1e9 * row['alone'] / count:>8.0f} {1e9 * row['ours'] / count:>8.0f} {extra / count:>8.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--sm", default="90")
    parser.add_argument("-O", dest="level", default="3", choices=examples.OPT_LEVELS)
    parser.add_argument("--profile", default="max")
    parser.add_argument("--report", action="store_true", help="measure the report instead of the phases")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--large", metavar="SIZES", help="numbers of instructions, separated by commas; no examples then")
    parser.add_argument("--function-size", type=int, help="instructions of a function, where a module has several")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.large:
            large(map(int, arguments.large.split(",")), Path(folder), arguments)
        else:
            over_sources(examples.sources_of(arguments.sources), Path(folder), arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
