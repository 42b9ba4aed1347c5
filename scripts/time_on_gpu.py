#!/usr/bin/env python3
"""Runs public kernels on a GPU as several ways to compile them made them: do they compute the same, and how long do they take?

    scripts/time_on_gpu.py prepare CORPUS FOLDER [--part look|held_out|later|latest|all] [--way NAME=FLAGS ...] [--sm 90]
                                                 [--projects A,B] [--of-project N] [--of-module N]
    scripts/time_on_gpu.py run FOLDER [--json FILE] [--launches FILE] [--seconds N] [--workers N]

`prepare` needs LLVM and ptxas, not a GPU: it compiles the modules of a corpus (see judge.py) with llc alone and each way, and keeps
in FOLDER the machine code of kernels for which ptxas' code differs. `run` needs Python and the driver, nothing else.

Nobody says how such kernels are launched, so this is found by trying. Each parameter that is a pointer gets a buffer of its own, full
of small integers or of numbers near one, each that is an integer the same value; so do the fields of structs, of which those are
pointers that the kernel takes for addresses in global memory. The first launch is taken that does not fault and takes between 20 µs
and 5 ms, else the longest that takes 5 µs. Then the code of each way runs from the same memory, and a checksum of all of it is
compared with that of llc's code. Where runs of llc's code differ, as by atomic additions of floats, nothing is said; a kernel in
which such a launch lets two threads write one place may still seem to differ. Times are medians of rounds in which all ways take
turns, each from the same memory. --launches takes the launches that an earlier run with --json found.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

import common
import gpu
import judging
import ptxas

# What a kernel gets that declares dynamic shared memory.
DYNAMIC_SHARED, DYNAMIC_SHARED_OF_TRITON = 32 << 10, 96 << 10
INTEGERS = (16, 64, 256, 1024)
SHORTEST, SHORT, LONG = 5.0, 20.0, 5000.0
ROUNDS = 25


def fields(name, body):
    """The fields of a struct by what the kernel loads: offset, bytes, whether it is a pointer."""
    found = []
    for bits, registers, offset in re.findall(
        rf"ld\.param(?:\.v\d)?\.[busf](\d+)\s+({{[^}}]*}}|%\w+), \[{re.escape(name)}(?:\+(\d+))?\]", body
    ):
        for number, register in enumerate(re.findall(r"%\w+", registers)):
            pointer = bits == "64" and re.search(rf"cvta\.to\.global\.u64\s+%\w+, {re.escape(register)};", body)
            found.append([int(offset or 0) + number * int(bits) // 8, int(bits) // 8, bool(pointer)])
    return sorted(found)


def parameters(header, body):
    """The parameters of a kernel: "pointer", the PTX type of a number, or a struct's size and fields; None where one is an image."""
    found = []
    for line in re.findall(r"\.param ([^,\n)]*)", header):
        if match := re.search(r"\.b8 ([\w$]+)\[(\d+)\]", line):
            found.append({"bytes": int(match.group(2)), "fields": fields(match.group(1), body)})
        elif ".ptr" in line:
            found.append("pointer")
        elif match := re.search(r"\.([ubsf]\d+) ", line):
            found.append(match.group(1))
        else:
            return None
    return found


def kernels_of(ptx):
    """How to launch each kernel of a PTX text: its parameters, and a block and a grid of as many dimensions as it asks for."""
    found = {}
    for kernel in re.finditer(r"^[.\w ]*\.entry ([\w$.]+)\((.*?)\)(.*?)^\{(.*?)^\}", ptx, re.DOTALL | re.MULTILINE):
        name, header, bounds, body = kernel.groups()
        taken = parameters(header, body)
        if taken is None or not 0 < gpu.pointers_of(taken) <= gpu.MOST_POINTERS:
            continue
        bound = re.search(r"\.(?:req|max)ntid\s+([\d, ]+)", bounds)
        threads = [int(number) for number in bound.group(1).split(",")] if bound else []
        dimensions = max(number for number, letter in enumerate("xyz", 1) if letter == "x" or f"%tid.{letter}" in body)
        if bound and math.prod(threads[1:]) > 1 or bound and dimensions == 1:
            block = threads + [1] * (3 - len(threads))
        else:
            block = {1: [256, 1, 1], 2: [32, 8, 1], 3: [32, 4, 2]}[dimensions]
        dimensions = max(number for number, letter in enumerate("xyz", 1) if letter == "x" or f"%ctaid.{letter}" in body)
        found[name] = {"parameters": taken, "block": block, "grid": {1: [2112, 1, 1], 2: [132, 16, 1], 3: [66, 8, 4]}[dimensions]}
    return found


def assembled(program, ptx, sm, folder, number):
    """By each way, what ptxas says of the kernels and hashes of their code, which is kept in the folder; None if ptxas refuses them."""
    figures, machine = {}, {}
    for way, text in ptx.items():
        with tempfile.TemporaryDirectory() as temporary:
            source, cubin = Path(temporary) / "k.ptx", folder / f"{number}.{way}.cubin"
            source.write_text(text)
            try:
                figures[way] = ptxas.figures(program, source, cubin, sm)
            except RuntimeError:
                return None
            machine[way] = ptxas.code_hashes(cubin)
    return figures, machine


def jobs_of(module, number, ways, arguments):
    """The kernels of a module that can be launched and whose machine code is not the same each way."""
    project, path, of_module, language = module
    sm = of_module if of_module.startswith(arguments.sm) else arguments.sm
    ptx = {way: judging.compiled(path, sm, language, flags) for way, flags in ways.items()}
    if None in ptx.values() or len(set(ptx.values())) == 1 or ptxas.calls_elsewhere(ptx["llc"]):
        return []
    code = {way: judging.codes(text) for way, text in ptx.items()}
    launches = kernels_of(ptx["llc"])
    launches = {name: launch for name, launch in launches.items() if any(code[way].get(name) != code["llc"].get(name) for way in ways)}
    made = assembled(arguments.program, ptx, sm, arguments.folder, number) if launches else None
    if made is None:
        return []
    figures, machine = made
    shared = DYNAMIC_SHARED_OF_TRITON if language == "Triton" else DYNAMIC_SHARED
    jobs, seen = [], set()
    for name, launch in launches.items():
        of_kernel = {way: machine[way].get(name) for way in ways}
        same = {way: next(other for other in ways if of_kernel[other] == of_kernel[way]) for way in ways}
        if None in of_kernel.values() or len(set(same.values())) == 1 or of_kernel["llc"] in seen or len(jobs) == arguments.of_module:
            continue
        seen.add(of_kernel["llc"])
        jobs.append({"project": project, "module": path.name, "language": language, "kernel": name, "number": number, **launch})
        jobs[-1].update(
            same=same,
            registers={way: figures[way][name]["registers"] for way in ways},
            spilled={way: figures[way][name].get("spill_store_bytes", 0) for way in ways},
            shared=shared if ".extern .shared" in ptx["llc"] else 0,
        )
    return jobs


def prepare(arguments):
    """Writes FOLDER/jobs.json and the machine code that it names."""
    arguments.program = ptxas.required()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    ways = {"llc": None, **dict(way.split("=", 1) for way in arguments.way or ["max=-oriel-profile=max"])}
    found = [module for module in judging.modules(arguments) if module[3] != "Triton" or module[2].startswith(arguments.sm)]

    def one(numbered):
        return jobs_of(numbered[1], numbered[0], ways, arguments)

    jobs, of_project = [], collections.Counter()
    for of_module in common.parallel("prepare", one, enumerate(found)):
        for job in of_module:
            of_project[job["project"]] += 1
            if of_project[job["project"]] <= arguments.of_project:
                jobs.append(job)
    used = {f"{job['number']}.{way}.cubin" for job in jobs for way in ways}
    for path in arguments.folder.glob("*.cubin"):
        if path.name not in used:
            path.unlink()
    (arguments.folder / "jobs.json").write_text(json.dumps({"ways": list(ways), "jobs": jobs}))
    print(f"{len(jobs)} kernels of {len(of_project)} projects differ")


def tried(device, job):
    """A launch that does not fault: how long it takes; a fault ends the process."""
    module, function = device.load(job, "llc")
    pointers = gpu.pointers_of(job["parameters"])
    values = device.values(job, job["integer"])
    device.begin_from(pointers, job["fill"])
    device.microseconds(function, job, values, 1)
    found = device.microseconds(function, job, values, 1)
    device.wait()
    device.call("cuModuleUnload", module)
    return {"microseconds": found}


def measured(device, job):
    """Whether each way computes the same as llc's code, and how long each takes."""
    ways = [way for way, same in job["same"].items() if way == same]
    loaded = {way: device.load(job, way) for way in ways}
    pointers = gpu.pointers_of(job["parameters"])
    values, sums, times = device.values(job, job["integer"]), {}, {way: [] for way in ways}
    # Races show as a rule where the same code runs again, some of them only after other code has run.
    for device.running in ["llc", "llc again", *ways[1:], "llc at last"]:
        device.begin_from(pointers, job["fill"])
        device.launch(loaded[device.running.split()[0]][1], job["grid"], job["block"], values, job["shared"])
        sums[device.running] = device.checksum(pointers)
    device.begin_from(pointers, job["fill"])
    untouched = device.checksum(pointers)
    repeat = max(1, min(10, round(300 / job["microseconds"])))
    for number in range(ROUNDS):
        for device.running in ways if number % 2 else ways[::-1]:
            device.begin_from(pointers, job["fill"])
            times[device.running].append(device.microseconds(loaded[device.running][1], job, values, repeat))
    device.wait()
    for module, _ in loaded.values():
        device.call("cuModuleUnload", module)
    found = {way: statistics.median(times[same][2:]) for way, same in job["same"].items()}
    compared = sums["llc"] == sums["llc again"] == sums["llc at last"]
    differs = [way for way in ways[1:] if compared and sums[way] != sums["llc"]]
    return {"times": found, "compared": compared, "differs": differs, "writes": sums["llc"] != untouched}


def worker(folder):
    """Answers jobs on standard input, a line each, until one faults. A job whose time is known is measured, others are tried."""
    # A kernel's own printf must not stand among the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    device = gpu.Gpu(folder)
    print("ready", file=answers)
    for line in sys.stdin:
        job = json.loads(line)
        try:
            found = (measured if "microseconds" in job else tried)(device, job)
        except RuntimeError as error:
            print(json.dumps({"error": f"{device.running}: {error}"}), file=answers)
            return
        print(json.dumps(found), file=answers)


def launch_of(process, job):
    """The job with the launch that it is measured with; None where none was found."""
    best = None
    for fill in gpu.FILLS:
        for integer in INTEGERS:
            attempt = {**job, "integer": integer, "fill": fill}
            took = process.ask(attempt, 2).get("microseconds")
            if took is None or took > LONG:
                break
            if best is None or took > best["microseconds"]:
                best = {**attempt, "microseconds": took}
            if took >= SHORT:
                return best
        if best:
            break
    return best if best and best["microseconds"] >= SHORTEST else None


def summary(title, rows, ways):
    """Times of each way against llc's."""
    print(f"\n{title}: {len(rows)} kernels")
    for way in ways[1:]:
        ratios = [row["times"][way] / row["times"]["llc"] for row in rows]
        changed = [ratio for row, ratio in zip(rows, ratios) if row["same"][way] != "llc"]
        if not changed:
            continue
        mean = math.exp(statistics.fmean(map(math.log, changed)))
        faster, slower = sum(ratio < 0.98 for ratio in changed), sum(ratio > 1.02 for ratio in changed)
        print(f"  {way:12} {len(changed):4} changed: time {mean - 1:+7.2%}, by over 2 %: {faster} faster, {slower} slower")


def run(arguments):
    """Measures what `prepare` wrote."""
    prepared = json.loads((arguments.folder / "jobs.json").read_text())
    jobs, ways = prepared["jobs"], prepared["ways"]
    start = time.monotonic()
    keys, known = ("project", "module", "kernel"), {}
    if arguments.launches:
        for row in json.loads(arguments.launches.read_text())["rows"]:
            known[tuple(row[key] for key in keys)] = {key: row[key] for key in ("integer", "fill", "microseconds")}
    found = [(job, known.get(tuple(job[key] for key in keys))) for job in jobs]
    launches = [{**job, **launch} for job, launch in found if launch]
    launches += searched([job for job, launch in found if not launch], arguments, start)
    rows, alone = [], gpu.Worker([sys.executable, __file__, "worker", arguments.folder])
    for job in launches:
        if time.monotonic() - start < arguments.seconds:
            rows.append({**job, **alone.ask(job, 10)})
    alone.stop()
    if arguments.json:
        arguments.json.write_text(json.dumps({"ways": ways, "rows": rows}))
    report(rows, ways)


def searched(jobs, arguments, start):
    """The kernels for which a launch was found, with it, in most of the time."""
    crew = [gpu.Worker([sys.executable, __file__, "worker", arguments.folder]) for _ in range(arguments.workers)]
    shares = [jobs[number :: arguments.workers] for number in range(arguments.workers)]

    def search(number):
        found = []
        for job in shares[number]:
            if time.monotonic() - start < arguments.seconds * 0.7:
                found.append(launch_of(crew[number], job))
        crew[number].stop()
        return found

    with concurrent.futures.ThreadPoolExecutor(arguments.workers) as pool:
        found = [job for share in pool.map(search, range(arguments.workers)) for job in share]
    launches = [job for job in found if job]
    print(f"{len(launches)} of {len(found)} kernels ran, {len(jobs)} asked, {time.monotonic() - start:.0f} s", flush=True)
    return launches


def report(rows, ways):
    """Prints what failed, what computes something else, times by language, and the kernels that change most."""
    timed = [row for row in rows if "times" in row]
    compared = [row for row in timed if row["compared"] and row["writes"]]
    print(f"{len(rows)} measured, {len(rows) - len(timed)} failed, {len(compared)} compared")
    for row in rows:
        if "error" in row or row["differs"]:
            print(f"  {row['project']} {row['module']} {row['kernel'][:80]}: {row.get('error') or 'differs: ' + ' '.join(row['differs'])}")
    for language in sorted({row["language"] for row in timed}):
        summary(language, [row for row in timed if row["language"] == language], ways)
    summary("all", timed, ways)
    for way in ways[1:]:
        order = sorted(timed, key=lambda row: row["times"][way] / row["times"]["llc"])
        for row in order[:8] + order[-12:]:
            ratio = row["times"][way] / row["times"]["llc"]
            if abs(ratio - 1) > 0.02:
                registers = f"{row['registers']['llc']} -> {row['registers'][way]}"
                name = f"{row['project']} {row['module']} {row['kernel']}"
                print(f"  {way}: {row['times']['llc']:.1f} us x {ratio:.3f}, registers {registers}: {name[:130]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("prepare")
    making.add_argument("corpus", type=Path)
    making.add_argument("folder", type=Path)
    making.add_argument("--part", choices=(*judging.PARTS, "all"), default="look")
    making.add_argument("--way", action="append", default=[])
    making.add_argument("--sm", default="90")
    making.add_argument("--projects")
    making.add_argument("--of-project", type=int, default=40)
    making.add_argument("--of-module", type=int, default=6)
    running = commands.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("--json", type=Path)
    running.add_argument("--seconds", type=float, default=300)
    running.add_argument("--workers", type=int, default=6)
    running.add_argument("--launches", type=Path)
    commands.add_parser("worker").add_argument("folder", type=Path)
    arguments = parser.parse_args()
    {"prepare": prepare, "run": run, "worker": lambda given: worker(given.folder)}[arguments.command](arguments)


if __name__ == "__main__":
    main()
