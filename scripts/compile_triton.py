#!/usr/bin/env python3
"""Compiles the kernels of Python files that use Triton to LLVM IR, for judge.py.

    scripts/compile_triton.py [--target 80,90a] [--most-kernels 6] [--seconds 60] --output FOLDER FOLDER|FILE ...

Run it with the Python of an environment that has Triton; no GPU and no torch is needed. A file is executed statement by statement with
stand-ins for modules that are missing. What it leaves are its kernels: functions with `triton.jit` that no other one calls. A kernel's
types and constants are made up from the names of its parameters and its first configuration, so they are not those that the project uses.

The IR is what Triton gives to its own LLVM, in FOLDER/FILE.KERNEL.TARGET.ll, with floating-point constants as LLVM 22 writes them.
Kernels that Triton refuses with all made-up types are named on standard error and left out.
"""

import argparse
import ast
import math
import re
import struct
import sys
from pathlib import Path

import common
from stand_ins import Meta, MissingModules, loaded


def functions_of(names, path):
    """(name, function under its decorators, configuration) of the file's own kernels."""
    import triton

    found, called = {}, set()
    for name, value in names.items():
        constants = {}
        while not isinstance(value, (triton.JITFunction, Meta)) and hasattr(value, "fn"):
            for config in getattr(value, "configs", None) or []:
                constants = {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}
                break
            value = value.fn
        if isinstance(value, triton.JITFunction) and value.fn.__code__.co_filename == str(path):
            found[name] = (value, constants)
            called |= set(re.findall(r"\b(\w+)\(", value.src.split(":", 1)[1]))
    return [(name, *rest) for name, rest in found.items() if name not in called]


def kernels_of(path):
    """The same of a file, which is executed with stand-ins for all modules that are missing from here on."""
    sys.meta_path.append(MissingModules(("triton", "oriel")))
    return functions_of(loaded(path, path.read_text(errors="replace"), ("triton.jit", "jit")), path)


def pointers(function, callers=()):
    """The parameters that an address of a load or store begins with, here or in a function that is called."""
    import triton

    parameters = function.arg_names
    begins, tree = {}, ast.parse(function.src)

    def leftmost(node):
        while isinstance(node, (ast.BinOp, ast.Subscript, ast.Attribute)):
            node = node.left if isinstance(node, ast.BinOp) else node.value
        if isinstance(node, ast.Call) and node.args:
            return leftmost(node.args[0])
        return node.id if isinstance(node, ast.Name) else None

    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            begins.setdefault(node.targets[0].id, set()).add(leftmost(node.value))
    accesses = ("load", "store", "make_block_ptr", "make_tensor_descriptor", "advance")
    wanted = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    work = []
    for call in wanted:
        if call.func.attr in accesses or call.func.attr.startswith("atomic"):
            work.append(leftmost(call.args[0] if call.args else next((it.value for it in call.keywords if it.arg in ("base", "pointer")), ast.Constant(0))))
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        callee = function.fn.__globals__.get(call.func.id)
        if isinstance(callee, triton.JITFunction) and callee not in callers:
            given = {**dict(zip(callee.arg_names, call.args)), **{it.arg: it.value for it in call.keywords}}
            work += [leftmost(given[name]) for name in pointers(callee, (*callers, function)) if name in given]
    found, seen = set(), set()
    while work:
        name = work.pop()
        if name in seen or name is None:
            continue
        seen.add(name)
        if name in parameters:
            found.add(name)
        work += begins.get(name, ())
    return found


SIZES = ((r"HEAD|DIM|_D$|^D$|_K$|BK$", 64), (r"GROUP", 8), (r"BLOCK.*[MN]$|^B[MN]$|BLOCK_[QT]", 64), (r"BLOCK|TILE|SIZE|CHUNK", 128), (r"SMS", 108), (r"STAGE", 3))


def constant(name, is_true):
    """A value for a compile-time parameter."""
    import triton.language as tl

    if re.search(r"dtype|DTYPE|_TYPE", name):
        return tl.float16
    if re.search(r"ACTIVATION|PRECISION|MODE", name):
        return "ieee" if "PRECISION" in name else ""
    if re.search(r"(?i)FP8|SPECIALIZE", name):
        return False
    for pattern, value in SIZES:
        if re.search(pattern, name, 0 if name.isupper() else re.IGNORECASE):
            return value
    return is_true if re.match(r"(?i)is_|has_|use_|even|causal|apply|do_|with_|return|store|save|allow|needs", name) else 1


def signature(function, constants, pointer, is_true):
    """(types, constants) of a kernel's parameters."""
    kinds, values, addresses = {}, {}, pointers(function)
    for parameter in function.params:
        name = parameter.name
        if parameter.is_constexpr:
            kinds[name] = "constexpr"
            values[name] = constants.get(name, parameter.default if parameter.has_default else constant(name, is_true))
        elif name in addresses or re.search(r"ptr|_p$|^[A-CE-GI-JO-Y][a-z]?$|Ptr", name):
            index = re.search(r"(?i)idx|index|indices|seq|len|offset|ids|lock|count|mask|map|table|label|sizes|_lds$", name)
            kinds[name] = "*i64" if name.endswith("_ptrs") else "*i32" if index else pointer
        else:
            is_float = re.search(r"(?i)eps|scale|alpha|beta|^p$|rate|dropout_p|norm|prob|lr|momentum|slope|temperature|cap", name)
            kinds[name] = "fp32" if is_float and not re.search(r"stride|seed|_len", name) else "i32"
    return kinds, values


def gpu_target(sm):
    """Triton's name for an SM such as `90a`."""
    from triton.backends.compiler import GPUTarget

    return GPUTarget("cuda", int(re.sub(r"\D", "", sm)), 32)


def compilations(function, constants, target):
    """Compiles a kernel with the first types and constants that Triton accepts. Returns the result and a function that compiles it again, both
    None if Triton accepts none, and why it refused the last ones."""
    from triton.compiler import ASTSource

    import triton

    options = {name: constants[name] for name in ("num_warps", "num_stages") if name in constants and name not in function.arg_names}

    def compile_kernel(kinds, values):
        source = ASTSource(fn=function, signature=kinds, constexprs=values)
        return triton.compile(source, target=gpu_target(target), options=options)

    reason = None
    for pointer in ("*fp16", "*fp32", "*i32"):
        for is_true in (True, False):
            try:
                arguments = signature(function, constants, pointer, is_true)
                return compile_kernel(*arguments), lambda arguments=arguments: compile_kernel(*arguments), reason
            except Exception as error:
                reason = f"{type(error).__name__}: {str(error).strip().splitlines()[-1] if str(error).strip() else ''}"
    return None, None, reason


# Constants that newer LLVM writes and LLVM 22 refuses: bits, special values, and decimals that must be rounded.
NEW_CONSTANT = re.compile(r"(?<=[\s<({,])(f0x[0-9A-Fa-f]+|[+-](?:inf|qnan)|-?\d+\.\d+(?:e[+-]?\d+)?)(?=[\s,>)}]|$)")
FLOATING = re.compile(r"\b(float|double|half|bfloat)\b")
SPECIAL = {"+inf": math.inf, "-inf": -math.inf, "+qnan": math.nan, "-qnan": -math.nan}


def old_constant(floating, word):
    """A constant of a type as LLVM 22 reads it."""
    letter, width = {"half": ("H", 16), "bfloat": ("R", 16), "float": ("", 32), "double": ("", 64)}[floating]
    if word.startswith("f0x"):
        bits = int(word[3:], 16)
    else:
        value = SPECIAL[word] if word in SPECIAL else float(word)
        narrow = "<e" if floating == "half" else "<d" if floating == "double" else "<f"
        bits = int.from_bytes(struct.pack(narrow, value), "little")
        if floating == "bfloat":
            bits = bits >> 16 if word in SPECIAL else bits + 0x7FFF + (bits >> 16 & 1) >> 16
    if floating == "float":
        # LLVM 22 writes it as a double.
        value = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
        bits, width = int.from_bytes(struct.pack("<d", value), "little"), 64
    return f"0x{letter}{bits:0{width // 4}X}"


def with_old_constants(text):
    """The IR with floating-point constants that LLVM 22 reads."""

    def of_line(line):
        if '"' in line or not FLOATING.search(line):
            return line

        def replaced(constant):
            types = FLOATING.findall(line[: constant.start()])
            return old_constant(types[-1], constant[0]) if types else constant[0]

        return NEW_CONSTANT.sub(replaced, line)

    return "\n".join(map(of_line, text.split("\n")))


def with_triple(ir):
    """The IR with its target, which Triton gives to LLVM in another way."""
    return ir if "target triple" in ir else re.sub("^target datalayout.*$", r'\g<0>\ntarget triple = "nvptx64-nvidia-cuda"', ir, count=1, flags=re.MULTILINE)


def of_file(path, arguments):
    """Compiles a file's kernels, each for every target in a process of its own."""
    for name, function, constants in kernels_of(path)[: arguments.most_kernels]:
        for target in arguments.target.split(","):

            def work(name=name, function=function, constants=constants, target=target):
                result, _, reason = compilations(function, constants, target)
                if result is None:
                    print(f"{path.name} {name} sm_{target}: {reason}", file=sys.stderr, flush=True)
                else:
                    (arguments.output / f"{path.stem}.{name}.{target}.ll").write_text(with_old_constants(with_triple(result.asm["llir"])))

            if not common.in_process(work, arguments.seconds):
                print(f"{path.name} {name} sm_{target}: no result in time", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--target", default="80,90a")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--most-kernels", type=int, default=6)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    import triton  # noqa: F401  before a project's folder of that name can be found

    for path in arguments.paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            common.in_process(lambda file=file: of_file(file.resolve(), arguments), 2 * arguments.seconds * arguments.most_kernels)


if __name__ == "__main__":
    sys.exit(main())
