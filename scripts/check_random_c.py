#!/usr/bin/env python3
"""Random C programs as kernels: in the interpreter they compute what the host computes, and phases change nothing.

    scripts/check_random_c.py [--programs 200] [--seed 1] [--save FOLDER]

Csmith (Debian: csmith) writes programs without undefined behaviour whose result is a hash of all global variables. clang compiles each
for the host, and for NVPTX as a kernel of one thread: at a random level, with calls inlined or not. Three results must agree: the host's, that of the
machine function as LLVM lowers it, and that of each form of it behind phases, which `oriel differential` makes and the validator compares.

A program that differs is kept in FOLDER with the command that shows it. Programs that run too long, on the host or in the interpreter, are left
out, and counted.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import common
import examples

LEVELS = ("1", "2", "3")
SMS = ("70", "80", "90", "120")
# Csmith's choices. Not among them: pointers to members of packed structs, which a GPU cannot access.
SHAPES = ("bitfields", "unions", "volatiles", "jumps", "inline-function", "longlong", "arrays")
# For both targets: signed overflow wraps, and unions and casts may read another type.
FLAGS = ("-w", "-fwrapv", "-fno-strict-aliasing")
SECONDS_ON_HOST = 2
STEPS = 3_000_000

# In the place of Csmith's own headers. Arithmetic wraps, and what C leaves undefined returns the left operand.
HEADER = r"""
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
static uint64_t hash;
#define main program
#define printf(...) 0
#define platform_main_begin() hash = 0
#define crc32_gentab()
#define crc32_context 0
#define transparent_crc(value, name, print) hash = (hash ^ (uint64_t)(value)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29
#define platform_main_end(value, print)
#define memset __builtin_memset
#define memcpy __builtin_memcpy

#define UNARY(T, sign) \
  static T safe_unary_minus_func_##T##_##sign(T a) { return (T)-(uint64_t)a; }
#define BINARY(T, sign) \
  static T safe_add_func_##T##_##sign##_##sign(T a, T b) { return (T)((uint64_t)a + (uint64_t)b); } \
  static T safe_sub_func_##T##_##sign##_##sign(T a, T b) { return (T)((uint64_t)a - (uint64_t)b); } \
  static T safe_mul_func_##T##_##sign##_##sign(T a, T b) { return (T)((uint64_t)a * (uint64_t)b); } \
  static T safe_div_func_##T##_##sign##_##sign(T a, T b) { return b == 0 || ((T)-1 < 0 && b == (T)-1) ? a : (T)(a / b); } \
  static T safe_mod_func_##T##_##sign##_##sign(T a, T b) { return b == 0 || ((T)-1 < 0 && b == (T)-1) ? a : (T)(a % b); }
#define SHIFT(T, sign, U, of) \
  static T safe_lshift_func_##T##_##sign##_##of(T a, U b) { return (uint64_t)b >= 8 * sizeof(T) ? a : (T)((uint64_t)a << b); } \
  static T safe_rshift_func_##T##_##sign##_##of(T a, U b) { return (uint64_t)b >= 8 * sizeof(T) ? a : (T)(a >> b); }
#define ALL(T, sign) UNARY(T, sign) BINARY(T, sign) SHIFT(T, sign, int, s) SHIFT(T, sign, unsigned, u)
ALL(int8_t, s) ALL(int16_t, s) ALL(int32_t, s) ALL(int64_t, s)
ALL(uint8_t, u) ALL(uint16_t, u) ALL(uint32_t, u) ALL(uint64_t, u)
"""
KERNEL = """
#undef main
#undef printf
__attribute__((device_kernel)) void kernel(uint64_t *out) { program(); *out = hash; FORGET }
"""
# Global variables with pointers. What they are at the end may be the address of a local, which phases may move.
POINTER = re.compile(r"^static [^=;]*\*(?: volatile)? ?\**(g_\d+)(?:\[\d+\])* =", re.MULTILINE)
HOST = r"""
#undef main
#undef printf
#include <stdio.h>
int main(void) { program(); printf("%llu\n", (unsigned long long)hash); return 0; }
"""
LAUNCH = """
description = "one thread"
[[buffer]]
name = "out"
element = "u64"
length = 1
role = "out"
initial = "zero"
[[launch]]
kernel = "kernel"
grid = [1, 1, 1]
block = [1, 1, 1]
arguments = [{ buffer = "out" }]
"""


def written(seed, choice, folder):
    """Csmith's program for this seed, twice: the paths of the kernel's text and the host's."""
    command = ["csmith", "--no-argc", "--seed", str(seed), "--no-packed-struct"]
    command += [f"--{choice.choice(('', 'no-'))}{shape}" for shape in SHAPES]
    command += ["--max-funcs", choice.choice("1358"), "--max-block-depth", choice.choice("234"), "--max-block-size", choice.choice("345")]
    # It would leave a file behind.
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout
    (folder / "csmith.h").write_text(HEADER)
    forget = "".join(f"memset((void *)&{name}, 0, sizeof {name}); " for name in POINTER.findall(text))
    for name, end in (("kernel.c", KERNEL.replace("FORGET", forget)), ("host.c", HOST)):
        (folder / name).write_text(text + end)
    return folder / "kernel.c", folder / "host.c"


def of_host(source, folder):
    """The hash that the program has on the host, or None if that takes too long."""
    program = folder / "host"
    # An optimised program may end although it would run for ever.
    common.run([common.llvm_bin() / "clang", "-O0", *FLAGS, f"-I{folder}", source, "-o", program])
    try:
        return int(subprocess.run([program], capture_output=True, check=True, timeout=SECONDS_ON_HOST).stdout)
    except subprocess.TimeoutExpired:
        return None


def of_kernel(source, choice, folder):
    """Compiles the kernel, and returns the options of `oriel` for it."""
    level, sm = choice.choice(LEVELS), choice.choice(SMS)
    bitcode = folder / "kernel.bc"
    target = ["--target=nvptx64-nvidia-cuda", f"-march=sm_{sm}", "-Xclang", "-target-feature", "-Xclang", examples.ptx_feature(sm)]
    target += ["-ffreestanding", "-nogpulib"]
    flags = [f"-O{choice.choice(LEVELS)}", *choice.choice(([], ["-fno-inline"])), *FLAGS]
    common.run([common.llvm_bin() / "clang", *target, *flags, f"-I{folder}", "-emit-llvm", "-c", source, "-o", bitcode])
    (folder / "launch.toml").write_text(LAUNCH)
    return [bitcode, "--sm", sm, "-O", level, "--launch", folder / "launch.toml", "--steps", str(STEPS)]


def checked(seed, save):
    """What a program shows: "equal", "too long", or what is wrong with it."""
    choice = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kernel, host = written(seed, choice, folder)
        expected = of_host(host, folder)
        if expected is None:
            return "too long"
        options = of_kernel(kernel, choice, folder)
        commands = (
            [common.tool(), "exec", *options, "--dump", folder / "dump"],
            [common.tool(), "differential", *options, "--random", "2", "--seed", str(seed), "--jobs", "1", "--save", save / str(seed)],
        )
        for command in commands:
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
            problem = done.returncode and (done.stdout + done.stderr).strip()
            if not problem and command[1] == "exec":
                found = int.from_bytes(next((folder / "dump").rglob("*out*")).read_bytes()[:8], "little")
                problem = found != expected and f"the hash is {found:#x}, on the host {expected:#x}"
            if problem and "step limit" in problem:
                return "too long"
            if problem:
                kept = save / str(seed)
                kept.mkdir(parents=True, exist_ok=True)
                for path in folder.iterdir():
                    if path.is_file():
                        shutil.copy(path, kept)
                shown = " ".join(str(word).replace(name, str(kept)) for word in command)
                (kept / "README").write_text(f"{shown}\n\n{problem}\n")
                return f"{kept}: {problem.splitlines()[-1][:200]}"
    return "equal"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the first program; the others follow")
    parser.add_argument("--save", type=Path, default=common.ROOT / "build" / "random-c")
    arguments = parser.parse_args()
    if not shutil.which("csmith"):
        print("random C: left out, since csmith is not installed")
        return 0
    arguments.save = arguments.save.resolve()
    seeds = range(arguments.seed, arguments.seed + arguments.programs)
    results = common.parallel("random C", lambda seed: checked(seed, arguments.save), seeds)
    wrong = [result for result in results if result not in ("equal", "too long")]
    print(f"{len(seeds)} programs: {results.count('equal')} equal, {results.count('too long')} run too long, {len(wrong)} problems")
    for one in wrong:
        print(f"  {one}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
