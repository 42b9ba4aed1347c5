#!/usr/bin/env python3
"""Compiles every example with clang and llc, without and with Oriel, and prints a table of what came out.

    scripts/run_examples.py [--sm 80] [-O 2] [--rebuild] [-o DIR] [SOURCE ...]

The PTX with Oriel is left in DIR (default: build/examples). With --rebuild every function is also rebuilt from its
plan, so that the time for that is counted too.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import common
import examples

COLUMNS = ("kernel", "blocks", "SSA in", "SSA out", "late in", "late out", "PTX llc", "PTX Oriel", "Oriel µs")


def compile_example(source, sm, level, options, folder):
    """One source's functions as table rows, the seconds that llc took alone, and the report."""
    stem = Path(source).with_suffix("").name
    bitcode, plain, output, report = (folder / f"{stem}{end}" for end in (".bc", ".llc.ptx", ".ptx", ".json"))
    common.run(examples.clang_command(source, bitcode, sm, level))
    llc = examples.llc_command(bitcode, plain, sm, level)
    start = time.monotonic()
    common.run(llc)
    plain_seconds = time.monotonic() - start
    with_oriel = examples.llc_command(bitcode, output, sm, level)
    with_oriel += [f"-load={common.plugin()}", f"-oriel-report={report}", *options]
    printed = common.run(with_oriel).stderr
    if printed:
        raise RuntimeError(printed)
    entries = [json.loads(line) for line in report.read_text().splitlines()]
    return function_rows(entries, plain, output), plain_seconds, entries


def function_rows(entries, plain, output):
    """A row for each function in the report's entries: the columns' values."""
    plain_counts = common.count_ptx_instructions(plain.read_text())
    counts = common.count_ptx_instructions(output.read_text())
    stages = {}
    for entry in entries:
        stages.setdefault(entry["function"], {})[entry["stage"]] = entry
    rows = []
    for function, by_stage in stages.items():
        ssa, late = by_stage["ssa"], by_stage["late"]
        nanoseconds = ssa["oriel_ns"] + late["oriel_ns"]
        name = function if ssa["is_kernel"] else f"  {function}"
        rows.append((name, late["blocks"], ssa["instructions_in"], ssa["instructions_out"], late["instructions_in"],
                     late["instructions_out"], plain_counts[function], counts[function], nanoseconds / 1000))
    return rows


def print_table(rows):
    """Prints rows of (name, integers..., microseconds) under COLUMNS, and their totals."""
    totals = ("total", *(sum(row[column] for row in rows) for column in range(1, len(COLUMNS))))
    texts = [COLUMNS]
    for row in [*rows, totals]:
        texts.append((row[0], *(str(value) for value in row[1:-1]), f"{row[-1]:.1f}"))
    widths = [min(44, max(len(row[column]) for row in texts)) for column in range(len(COLUMNS))]
    for number, row in enumerate(texts):
        if number in (1, len(texts) - 1):
            print("-" * (sum(widths) + 2 * len(widths) - 2))
        name = row[0] if len(row[0]) <= widths[0] else row[0][: widths[0] - 1] + "…"
        print("  ".join([name.ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:]))]))


def print_times(results):
    """Prints the time in Oriel, an instruction and as a share of llc's."""
    entries = [entry for _, _, report in results for entry in report]
    instructions = max(1, sum(entry["instructions_in"] for entry in entries))
    parts = ", ".join(f"{part} {sum(entry[f'{part}_ns'] for entry in entries) / instructions:.0f} ns"
                      for part in ("export", "library", "apply"))
    llc_seconds = sum(seconds for _, seconds, _ in results)
    oriel_seconds = sum(entry["oriel_ns"] for entry in entries) / 1e9
    print(f"\nOriel, an instruction and stage: {parts}; {oriel_seconds * 1000:.1f} ms in all, "
          f"{100 * oriel_seconds / max(llc_seconds, 1e-9):.2f} % of llc's {llc_seconds:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--sm", default="80", choices=examples.SM_VERSIONS)
    parser.add_argument("-O", dest="level", default="2", choices=examples.OPT_LEVELS)
    parser.add_argument("-o", dest="folder", type=Path, default=common.ROOT / "build" / "examples")
    parser.add_argument("--rebuild", action="store_true")
    arguments = parser.parse_args()
    options = ["-oriel-phases=none"] if arguments.rebuild else []
    arguments.folder.mkdir(parents=True, exist_ok=True)
    folder = arguments.folder.resolve()
    sources = arguments.sources or examples.examples()

    def work(source):
        try:
            return compile_example(source, arguments.sm, arguments.level, options, folder), ""
        except (RuntimeError, OSError) as error:
            return None, f"FAIL {source}: {error}"

    results = common.parallel("examples", work, sources)
    rows = [row for result, _ in results if result for row in result[0]]
    problems = [problem for _, problem in results if problem]
    print_table(rows)
    print_times([result for result, _ in results if result])
    print(f"{len(sources)} sources, {len(rows)} functions (device functions indented), sm_{arguments.sm}, "
          f"-O{arguments.level}")
    shown = folder.relative_to(common.ROOT) if folder.is_relative_to(common.ROOT) else folder
    print(f"The PTX with Oriel is in {shown}.")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
