#!/usr/bin/env python3
"""Compiles the kernels of Python files through Oriel's hook for Triton: registers beside ptxas', and lines.

    scripts/measure_triton.py FOLDER|FILE ... [--target 80,90a] [--seconds 120] [--most-kernels 8] [--json FILE] [--keep FOLDER]

Run it with the Python of an environment that has Triton and the package `oriel`; no GPU and no torch is needed. A file is executed
statement by statement with stand-ins for modules that are missing. What it leaves are its kernels: functions with `triton.jit` that no
other one calls. A kernel's types and constants are made up from the names of its parameters and its first configuration, so they
are not those that the project uses.

Each kernel is compiled by Triton alone, then with `install(profile="max", strict=True)` and `report(ptxas=True)`, in a process of its
own that ends after --seconds. --keep writes both kinds of PTX to a folder. A place in a peak has the right line if the line is in a function of a file that exists.
"""

import argparse
import ast
import functools
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import common
from compile_triton import compilations, kernels_of


def of_ptxas(ptx, target):
    """(registers, bytes of spill stores) by Triton's own ptxas."""
    import oriel.triton

    program = oriel.triton._ptxas_for(int(re.sub(r"\D", "", target)))
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as source:
        source.write(ptx)
        source.flush()
        found = os.environ.get("LLVM_PTXAS_EXECUTABLE", "ptxas") if program is True else program
        command = [found, "-v", f"--gpu-name={target}", source.name, "-o", os.devnull]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return int(re.search(r"Used (\d+) registers", said).group(1)), int((re.search(r"(\d+) bytes spill stores", said) or [0, 0])[1])


@functools.cache
def lines_of_functions(file):
    """The lines of a file that are in functions."""
    try:
        tree = ast.parse(Path(file).read_text())
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return frozenset(line for node in found for line in range(node.lineno, node.end_lineno + 1))


def places(report):
    """The sources of all places that the report's peaks name."""
    for function in report:
        for peak in function.peaks:
            for at in (peak["place"], *(value[end] for value in peak["values"] for end in ("definition", "last_use"))):
                if at is not None:
                    yield at["source"]


def measured(function, constants, target, keep):
    """What a kernel's compilations gave, for the first types and constants with which Triton compiles it."""
    import oriel.triton

    result, again, reason = compilations(function, constants, target)
    if result is None:
        return {"reason": reason}
    alone = result.asm["ptx"]
    arch = re.search(r"\.target (sm_\w+)", alone).group(1)
    before = of_ptxas(alone, arch)
    oriel.triton.install(profile="max", strict=True)
    with oriel.triton.report(ptxas=True) as kernels:
        again()
    (kernel,) = kernels
    if keep:
        for kind, ptx in (("triton", alone), ("oriel", kernel.ptx)):
            (keep / f"{Path(function.fn.__code__.co_filename).stem}.{kernel.name}.{target}.{kind}.ptx").write_text(ptx)
    report = next(it for it in kernel.report if it.is_kernel)
    sources = list(places(kernel.report))
    # Line 0 is the line of instructions that LLVM merges from several lines.
    with_line = [source for source in sources if source and source[0]["line"]]
    wrong = [source[0] for source in with_line if source[0]["line"] not in lines_of_functions(source[0]["file"])]
    return {
        "is_oriels": kernel.is_oriels, "estimate": report.registers_estimate, "low": report.registers_estimate_low,
        "high": report.registers_estimate_high, "unlike": report.registers_estimate_unlike, "ptxas": report.ptxas_registers,
        "ptxas_alone": of_ptxas(kernel.ptx, arch)[0], "spilled": report.ptxas_spill_store_bytes, "triton": before[0],
        "triton_spilled": before[1], "places": len(with_line), "without_line": len(sources) - len(with_line),
        "wrong": [f"{source['file']}:{source['line']}" for source in wrong],
    }


def in_process(path, target, arguments, pipe):
    """Sends the names of a file's kernels, then what each one gave."""
    import triton  # noqa: F401  before a project's folder of that name can be found

    kernels = kernels_of(path)[:arguments.most_kernels]
    pipe.send([name for name, _, _ in kernels])
    for name, function, constants in kernels:

        def send(name=name, function=function, constants=constants):
            try:
                pipe.send((name, measured(function, constants, target, arguments.keep)))
            except BaseException as error:
                pipe.send((name, {"failed": f"{type(error).__name__}: {error}"}))

        common.in_process(send, arguments.seconds)
    pipe.send(None)


def of_file(path, target, arguments):
    """(file, kernel, target, figures) of a file's kernels."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.Process(target=in_process, args=(path, target, arguments, there))
    process.start()
    rows, names = [], []
    try:
        # A kernel ends within the time; this limit is for the statements of the file.
        while here.poll(2 * arguments.seconds):
            message = here.recv()
            if message is None:
                break
            if isinstance(message, list):
                names = message
            else:
                rows.append((str(path), message[0], target, message[1]))
    except EOFError:
        pass
    process.kill()
    done = {row[1] for row in rows}
    return rows + [(str(path), name, target, {"reason": "no result in time"}) for name in names if name not in done]


def table(rows):
    """Prints the figures of all kernels that Triton compiled."""
    got = [figures for *_, figures in rows if "estimate" in figures]
    failed = [row for row in rows if "failed" in row[3]]
    print(f"kernels that Triton compiles {len(got)}, others {len(rows) - len(got) - len(failed)}, failed with Oriel {len(failed)}")
    for file, name, target, figures in failed:
        print(f"  {file} {name} {target}: {figures['failed'][:300]}")
    if not got:
        return
    off = [one["estimate"] - one["ptxas"] for one in got]
    print(f"Oriel made the PTX {sum(one['is_oriels'] for one in got)}, ptxas' registers as in the report "
          f"{sum(one['ptxas'] == one['ptxas_alone'] for one in got)}")
    print(f"estimate less ptxas, median {statistics.median(off):g}; difference, median {statistics.median(map(abs, off)):g}, "
          f"mean {statistics.mean(map(abs, off)):.1f}; in the range {sum(one['low'] <= one['ptxas'] <= one['high'] for one in got)}; "
          f"unlike {sum(one['unlike'] is not None for one in got)}")
    fewer, more = (sum(sign * one["ptxas"] < sign * one["triton"] for one in got) for sign in (1, -1))
    print(f"fewer, as many, more registers than Triton's PTX: {fewer}, {len(got) - fewer - more}, {more}; "
          f"bytes of spill stores {sum(one['spilled'] for one in got)}, Triton's {sum(one['triton_spilled'] for one in got)}")
    lines, without = (sum(one[kind] for one in got) for kind in ("places", "without_line"))
    print(f"places with a line {lines}, without {without} ({without / max(lines + without, 1):.1%}), "
          f"wrong {sum(len(one['wrong']) for one in got)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--target", default="80")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--most-kernels", type=int, default=8)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    files = [file.resolve() for path in arguments.paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    rows = []
    for target in arguments.target.split(","):
        for number, file in enumerate(file for file in files if "triton.jit" in file.read_text(errors="replace")):
            of_one = of_file(file, target, arguments)
            rows += of_one
            print(f"{target} {number + 1} {file.name}: {', '.join(name for _, name, _, figures in of_one if 'estimate' in figures)}", file=sys.stderr)
    table(rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))
    return any("failed" in figures for *_, figures in rows)


if __name__ == "__main__":
    sys.exit(main())
