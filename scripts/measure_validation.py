#!/usr/bin/env python3
"""Which share of the functions that the phases change the validator proves, and why it does not prove the rest.

    scripts/measure_validation.py [--sm 80] [-O 3] [--flags=-oriel-...] [SOURCE|FOLDER ...]

Sources are the examples if none are named; of a folder, its modules (*.ll, *.bc). A module as text is compiled for the SM that
it names.
"""

import argparse
import collections
import json
import re
import subprocess
import tempfile
from pathlib import Path

import common
import examples

# Of llc for a module.
SECONDS = 600
# Doubts of each kind, and failures.
SHOWN = 5


def measure(source, arguments):
    """The report's lines of one source, or none and what went wrong."""
    text = source.read_text(errors="replace") if source.suffix == ".ll" else ""
    named = re.search(r'"target-cpu"="sm_(\d+[af]?)"', text)
    sm = named.group(1) if named else arguments.sm
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = examples.llc_command(examples.bitcode_of(source, folder, sm), "/dev/null", sm, arguments.level)
        command += [f"-load={common.plugin()}", f"-oriel-report={report}", "-oriel-validate=check", *arguments.flags]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return [], "it took too long"
        lines = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
    return lines, result.stderr[-400:] if result.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--sm", default="80")
    parser.add_argument("-O", dest="level", default="3", choices=examples.OPT_LEVELS)
    parser.add_argument("--flags", nargs="*", default=[], help="more options, written as --flags=-oriel-...")
    arguments = parser.parse_args()
    found = examples.sources_of(arguments.sources)
    results = common.parallel("llc", lambda source: measure(source, arguments), found)
    proved = collections.Counter()
    doubts = collections.defaultdict(list)
    kernels, times, failures = set(), collections.Counter(), []
    for module, (lines, problem) in zip(found, results):
        if problem:
            failures.append(f"{module}: {problem}")
        for line in lines:
            times["oriel"] += line["oriel_ns"]
            if line["is_kernel"]:
                kernels.add((module, line["function"]))
            if validation := line.get("validation"):
                proved[line["stage"], validation["is_proved"]] += 1
                if not validation["is_proved"]:
                    kind = validation["doubt"].split(" (")[0]
                    doubts[kind].append(f"{module} {line['function']} {line['stage']}: {validation['doubt']}")
    for stage in ("ssa", "late"):
        yes, no = proved[stage, True], proved[stage, False]
        share = 100 * yes / (yes + no) if yes + no else 100
        print(f"{stage}: {yes + no} functions changed, {yes} proved ({share:.2f} %), {no} not")
    print(f"{len(found)} modules, {len(kernels)} kernels, {len(failures)} modules failed")
    for kind, texts in sorted(doubts.items(), key=lambda item: -len(item[1])):
        print(f"{len(texts)} × {kind}")
        for text in texts[:SHOWN]:
            print(f"    {text}")
    for failure in failures[:SHOWN]:
        print(failure)


if __name__ == "__main__":
    main()
