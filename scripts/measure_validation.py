#!/usr/bin/env python3
"""Which share of the functions that the phases change the validator proves, and why it does not prove the rest.

Takes modules of LLVM IR, bitcode or folders of them; the examples without any.
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


def modules(paths, sm, folder):
    """The modules of `paths`, or those of the examples, as files."""
    if not paths:
        sources = examples.examples()
        bitcode = [folder / f"{'-'.join(source.parts)}.bc" for source in sources]
        commands = [examples.clang_command(*pair, sm.removeprefix("sm_")) for pair in zip(sources, bitcode)]
        common.parallel("clang", common.run, commands)
        return bitcode
    found = []
    for path in map(Path, paths):
        found += sorted(path.rglob("*.ll")) + sorted(path.rglob("*.bc")) if path.is_dir() else [path]
    return found


def measure(module, arguments, folder):
    """The report's lines of one module, or none and what went wrong."""
    report = Path(tempfile.mkstemp(dir=folder, suffix=".json")[1])
    command = [common.llvm_bin() / "llc", f"-load={common.plugin()}", f"-O{arguments.optimization_level}"]
    text = module.read_text(errors="replace") if module.suffix == ".ll" else ""
    wanted = re.search(r'"target-cpu"="(sm_\d+[af]?)"', text)
    sm = arguments.sm if arguments.force_sm or not wanted else wanted.group(1)
    command += [f"-mcpu={sm}", f"-oriel-report={report}", "-oriel-validate=check", *arguments.flags, module, "-o", "/dev/null"]
    if arguments.attributes:
        command.append(f"-mattr={arguments.attributes}")
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout, check=False)
    except subprocess.TimeoutExpired:
        return [], "it took too long"
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    report.unlink()
    return lines, result.stderr[-400:] if result.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--sm", default="sm_80")
    parser.add_argument("--force-sm", action="store_true", help="not the one that the module names")
    parser.add_argument("--attributes", default="+ptx86")
    parser.add_argument("-O", dest="optimization_level", default="3")
    parser.add_argument("--flags", nargs="*", default=[], help="more options, written as --flags=-oriel-...")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--show", type=int, default=5, help="doubts of each kind to show")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = modules(arguments.modules, arguments.sm, Path(folder))
        results = common.parallel("llc", lambda module: measure(module, arguments, folder), found)
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
        for text in texts[: arguments.show]:
            print(f"    {text}")
    for failure in failures[:5]:
        print(failure)


if __name__ == "__main__":
    main()
