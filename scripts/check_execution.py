#!/usr/bin/env python3
"""Runs every example's launches in the interpreter, at both stages, and blind launches of every kernel.

    scripts/check_execution.py [--sm 90] [-O 2] [--seeds 1,2] [SOURCE ...]

An example passes if every launch of its description runs to its end at both stages, leaves the buffers that are read only
alone, and gives the same memory byte for byte at both. Some examples are compared with an implementation in Python
as well. A blind launch passes if both stages write the same bytes; one that ends in a fault at both says nothing. The
examples that cannot run are those with instructions that the interpreter does not model; at most a fifth may be.
"""

import argparse
import base64
import hashlib
import json
import struct
import sys
import tempfile
import tomllib
import zlib
from pathlib import Path

import common
import examples

# The sources in examples/cooperation/ consist of inline PTX and asynchronous intrinsics; beyond them there is little room.
LARGEST_SHARE_NOT_MODELLED = 0.2


def splitmix64(seed):
    """The random numbers of docs/launch-format.md."""
    mask = (1 << 64) - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


ELEMENTS = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "f32": "f", "f64": "d"}


def initial_values(buffer):
    """The integers that a buffer holds at first."""
    initial, length, element = buffer["initial"], buffer["length"], buffer["element"]
    if initial == "zero":
        return [0] * length
    if "constant" in initial:
        return [initial["constant"]] * length
    if "values" in initial:
        return initial["values"]
    if "sequence" in initial:
        return [initial["sequence"]["start"] + index * initial["sequence"]["step"] for index in range(length)]
    kind, settings = next(iter(initial.items()))
    random = splitmix64(settings["seed"])
    if kind == "uniform":
        low, high = settings["low"], settings["high"]
        return [low + next(random) % (high - low + 1) for _ in range(length)]
    size = struct.calcsize(ELEMENTS[element])
    packed = b"".join(next(random).to_bytes(8, "little")[:size] for _ in range(length))
    return list(struct.unpack(f"<{length}{ELEMENTS[element]}", packed))


class Run:
    """What a description's buffers held before and after."""

    def __init__(self, description, folder, stage):
        self.buffers = {buffer["name"]: buffer for buffer in description["buffer"]}
        self.folder, self.stage = folder, stage

    def before(self, name):
        return initial_values(self.buffers[name])

    def after(self, name):
        data = (self.folder / f"{self.stage}.{name}.bin").read_bytes()
        code = ELEMENTS[self.buffers[name]["element"]]
        return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))


REFERENCES = {}


def reference(source):
    """Declares a check of one example's results; it returns what is wrong, or None."""

    def add(check):
        REFERENCES[f"examples/{source}"] = check
        return check

    return add


@reference("crypto/sha256.cu")
def check_sha256(run):
    messages, digests = bytes(run.before("messages")), run.after("digests")
    for index in range(100):
        expected = hashlib.sha256(messages[43 * index : 43 * index + 43]).digest()
        if struct.unpack(">8I", expected) != tuple(digests[8 * index : 8 * index + 8]):
            return f"digest {index}"
    return None


@reference("codec/crc32.cu")
def check_crc32(run):
    data = bytes(run.before("data"))
    expected = [zlib.crc32(data[37 * index : 37 * index + 37]) for index in range(90)]
    return next((name for name in ("by_byte", "by_word") if run.after(name) != expected), None)


@reference("codec/base64_encode.cu")
def check_base64(run):
    data = bytes(run.before("in"))
    for name, size in (("text", 398), ("shorter", 301)):
        expected = base64.b64encode(data[:size])
        text = b"".join(word.to_bytes(4, "little") for word in run.after(name))
        if not text.startswith(expected):
            return name
    return None


@reference("sort/radix_sort.cu")
def check_radix_sort(run):
    return None if run.after("keys") == sorted(run.before("keys")) else "keys"


@reference("sort/bitonic_sort.cu")
def check_bitonic_sort(run):
    return None if run.after("data") == sorted(run.before("data")) else "data"


@reference("sort/quicksort_explicit_stack.cu")
def check_quicksort(run):
    before, after = run.before("data"), run.after("data")
    segments = range(0, len(before), 24)
    wrong = (start for start in segments if after[start : start + 24] != sorted(before[start : start + 24]))
    return next((f"the segment at {start}" for start in wrong), None)


def check_stage(arguments, source, bitcode, description, folder):
    """Runs the launches of an example; problems, and whether instructions are missing."""
    command = [common.tool(), "exec", bitcode, "--sm", arguments.sm, "-O", arguments.level, "--json"]
    launch = Path(source).with_suffix(".toml")
    try:
        output = common.run([*command, "--launch", launch, "--dump", folder]).stdout
        problems = []
    except RuntimeError as error:
        output, problems = str(error), [str(error)]
    reports = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    faults = [report["fault"] for report in reports if "fault" in report]
    not_modelled = bool(faults) and all(fault.startswith("unsupported") for fault in faults)
    if not problems and (check := REFERENCES.get(str(source))):
        for stage in ("ssa", "late"):
            if problem := check(Run(description, folder, stage)):
                problems.append(f"{stage}: {problem}")
    texts = {text for report in reports for text, _ in report["unsupported"]}
    executed = sum(report["thread_instructions"] for report in reports)
    return problems, not_modelled, texts, executed


def check(arguments, source):
    """What one example gives."""
    description = tomllib.loads((common.ROOT / source).with_suffix(".toml").read_text())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bitcode = folder / "in.bc"
        common.run(examples.clang_command(source, bitcode, arguments.sm, arguments.level, False))
        problems, not_modelled, texts, executed = check_stage(arguments, source, bitcode, description, folder)
        blind, without_end = 0, 0
        for seed in arguments.seeds.split(","):
            command = [common.tool(), "exec", bitcode, "--sm", arguments.sm, "-O", arguments.level, "--json"]
            try:
                output = common.run([*command, "--blind", seed, "--steps", "2000000"]).stdout
            except RuntimeError as error:
                problems.append(f"blind {seed}: {error}")
                continue
            reports = [json.loads(line) for line in output.splitlines()]
            blind += len(reports)
            without_end += sum(1 for report in reports if "fault" in report)
    return source, problems, not_modelled, texts, executed, blind, without_end


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--sm", default="90")
    parser.add_argument("-O", dest="level", default="2")
    parser.add_argument("--seeds", default="1,2", help="of the blind launches")
    arguments = parser.parse_args()
    sources = [Path(source) for source in arguments.sources] or examples.examples()
    results = common.parallel("execute", lambda source: check(arguments, source), sources)
    failed, missing, blind, without_end, compared = 0, set(), 0, 0, 0
    for source, problems, not_modelled, texts, _, launches, faults in results:
        blind += launches
        without_end += faults
        if not_modelled:
            missing.add(source)
            print(f"not modelled: {source}: {', '.join(sorted(texts))}")
        elif problems:
            failed += 1
            print("".join(f"FAIL {source}: {problem}\n" for problem in problems), end="")
        else:
            compared += str(source) in REFERENCES
    executed = sum(result[4] for result in results)
    print(f"{executed} thread-instructions; {compared} examples compared with Python")
    print(f"blind: {blind} launches, {without_end} of them ended in a fault")
    print(f"execution: {len(results) - failed - len(missing)} passed, {failed} failed, {len(missing)} not modelled")
    too_many = len(sources) > 10 and len(missing) > LARGEST_SHARE_NOT_MODELLED * len(sources)
    return 1 if failed or too_many else 0


if __name__ == "__main__":
    sys.exit(main())
