#!/usr/bin/env python3
"""Judges ways to compile by what ptxas makes of public kernels: registers, warps, spills and code, better beside worse.

    scripts/judge.py CORPUS [--part look|held_out|later|latest|all] [--way NAME=FLAGS ...] [--sm 80,90] [--limit 64] [--projects A,B]
                     [--json FILE] [--worst 10]

CORPUS is a folder with the modules (LLVM IR or bitcode) in a folder for each project, and an `index.tsv` with a line for each module:
project, file, SM, language. `look.txt`, `held_out.txt`, `later.txt` and `latest.txt` list the projects of each part: what is tuned is
tuned on the first and reported on the others. A way is a name and options of the plug-in, such as `max=-oriel-profile=max`; `llc` alone
is always judged, and the others are compared with it. Without --sm a module is compiled for the SM of its line.
LLVM_PTXAS_EXECUTABLE names another ptxas than the first in PATH; the tables begin with its release.

A kernel that several modules have, such as an instance of a library's template, counts once: by the PTX that llc makes of it.
Warps are those that registers allow; registers are summed over kernels, spilled bytes are stores and loads. A line `best` takes the
best of all ways for each kernel: what choosing well would be worth. What ptxas says of a PTX text is kept in CORPUS/.judged.
"""

import argparse
import hashlib
import json
import tempfile
import threading
from pathlib import Path

import common
import judging
import ptxas

FIGURES = ("registers", "warps", "spilled", "spilled_at_limit", "sass", "ptx")


def judged(ptx, sm, arguments):
    """ptxas' figures of every kernel of a PTX text, by the limit of registers."""
    limits = arguments.limits
    # What calls functions of other modules is assembled to be linked, which changes its registers.
    to_link = ptxas.calls_elsewhere(ptx)
    release = ptxas.release(arguments.program)
    key = arguments.cache / hashlib.sha256(f"{ptx} {sm} {limits} {to_link} {release}".encode()).hexdigest()
    if key.exists():
        return json.loads(key.read_text())
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "k.ptx", Path(folder) / "k.cubin"
        source.write_text(ptx)
        found = [ptxas.figures(arguments.program, source, cubin, sm, limit, to_link) for limit in limits]
    # Another thread may want the same: it sees a whole file or none.
    part = key.with_suffix(f".{threading.get_ident()}")
    part.write_text(json.dumps(found))
    part.replace(key)
    return found


def measure(module, way, flags, arguments):
    """The figures of every kernel of a module compiled one way, or None."""
    project, path, sm, language = module
    sm = arguments.only_sm or sm
    ptx = judging.compiled(path, sm, language, flags)
    try:
        found = judged(ptx, sm, arguments) if ptx else None
    except RuntimeError:
        found = None
    if found is None:
        return None
    counts, code = common.count_ptx_instructions(ptx), judging.codes(ptx)
    number = int(sm.rstrip("af"))
    kernels = {}
    for name, free in found[0].items():
        if "registers" not in free or name not in counts:
            continue
        spilled = [of.get(name, {}).get("spill_store_bytes", 0) + of.get(name, {}).get("spill_load_bytes", 0) for of in found]
        kernels[name] = {
            "registers": free["registers"],
            "warps": judging.warps(free["registers"], number),
            "spilled": spilled[0],
            "spilled_at_limit": spilled[-1],
            "sass": free.get("sass_instructions", 0),
            "ptx": counts[name],
            "code": code.get(name, name),
        }
    return kernels


def best(kernels):
    """The way that is best for a kernel: fewest spills, then most warps, then registers, then code."""
    return min(kernels.values(), key=lambda one: (one["spilled"], -one["warps"], one["registers"], one["sass"]))


def table(title, rows, ways):
    print(f"\n{title}: {len(rows)} kernels")
    base = {figure: judging.totals(rows.values(), "llc", figure)[0] for figure in FIGURES}
    print(f"{'':12}" + "".join(f"{figure:>26}" for figure in FIGURES))
    print(f"{'llc':12}" + "".join(f"{base[figure]:>26,}" for figure in FIGURES))
    for way in ways:
        cells = ""
        for figure in FIGURES:
            total, up, down = judging.totals(rows.values(), way, figure)
            change = total / base[figure] - 1 if base[figure] else 0
            cells += f"{f'{change:+.2%} ({up} : {down})':>26}"
        print(f"{way:12}{cells}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--part", choices=(*judging.PARTS, "all"), default="look")
    parser.add_argument("--way", action="append", default=[])
    parser.add_argument("--sm", default="")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--projects")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worst", type=int, default=10)
    arguments = parser.parse_args()
    arguments.program = ptxas.required()
    arguments.limits = [0, arguments.limit] if arguments.limit else [0]
    arguments.cache = arguments.corpus / ".judged"
    arguments.cache.mkdir(exist_ok=True)
    ways = dict(way.split("=", 1) for way in arguments.way or ["max=-oriel-profile=max"])
    everything, seen = {}, set()
    for sm in arguments.sm.split(",") if arguments.sm else [""]:
        arguments.only_sm = sm
        found = list(judging.modules(arguments))
        calls = [(module, way, flags, arguments) for module in found for way, flags in {"llc": None, **ways}.items()]
        results = common.parallel(f"judge{f' sm_{sm}' if sm else ''}", lambda call: measure(*call), calls)
        for number, module in enumerate(found):
            of_module = dict(zip(["llc", *ways], results[number * (len(ways) + 1) :]))
            if None in of_module.values():
                continue
            for kernel, alone in of_module["llc"].items():
                copy = (sm or module[2], module[3], alone["code"])
                if copy not in seen and all(kernel in kernels for kernels in of_module.values()):
                    seen.add(copy)
                    row = {way: kernels[kernel] for way, kernels in of_module.items()}
                    row["best"] = best(row)
                    everything[(sm or module[2], module[3], module[0], module[1].name, kernel)] = row
    print(f"ptxas {ptxas.release(arguments.program)}")
    shown = [*ways, "best"] if len(ways) > 1 else list(ways)
    groups = [1, 0] if "," in arguments.sm else [1]
    for group in groups:
        for name in sorted({key[group] for key in everything}):
            table(f"sm_{name}" if group == 0 else name, {key: row for key, row in everything.items() if key[group] == name}, shown)
    table("all", everything, shown)
    for way in ways:
        for figure in ("registers", "spilled", "sass"):
            worse = [(row[way][figure] - row["llc"][figure], row["llc"][figure], key) for key, row in everything.items()]
            for change, before, key in sorted(worse, reverse=True)[: arguments.worst]:
                if change > 0:
                    print(f"{way}: {figure} {before} -> {before + change}: {' '.join(map(str, key))[:150]}")
    if arguments.json:
        rows = [dict(zip(("sm", "language", "project", "module", "kernel"), key), **row) for key, row in everything.items()]
        arguments.json.write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
