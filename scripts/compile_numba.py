#!/usr/bin/env python3
"""Compiles the kernels of Python files and notebooks that use Numba to LLVM bitcode, for measure_registers.py and judge.py.

    scripts/compile_numba.py [--most-kernels 8] [--seconds 60] --libdevice FILE.bc --output FOLDER FOLDER|FILE ...

Run it with the Python of an environment that has numba-cuda, a CUDA toolkit's NVVM and NVRTC; no GPU is needed. A file is executed
statement by statement with stand-ins for modules that are missing. Its kernels are the decorated functions that ask for the number of
their thread. A kernel's types are those of its decorator. If there are none, they are made up from what the kernel
does with its parameters, so they are not always those that the project uses.

Of each kernel, the IR that Numba hands to NVVM is linked with libdevice and optimised by opt -O3, as docs/drivers.md tells. The module
is FOLDER/FILE.KERNEL.bc. Kernels that Numba refuses with all made-up types are named on standard error and left out.
"""

import argparse
import ast
import collections
import contextlib
import importlib
import json
import os
import re
import sys
import tempfile
import types
import zlib
from pathlib import Path

# LLVM 22 has no typed pointers.
os.environ["LLVMLITE_ENABLE_IR_LAYER_TYPED_POINTERS"] = "0"

import common  # noqa: E402
from stand_ins import MissingModules, StandIn, loaded  # noqa: E402

CAPABILITY = (8, 0)
# A kernel asks for one of these.
OF_A_THREAD = re.compile(r"\b(cuda\.grid|cuda\.gridsize|threadIdx|blockIdx)\b")
# Parameters that are whole numbers, and arrays of such.
WHOLE = re.compile(r"(?i)^[nmkijhwxyzt][xyz]?$|^n_|_n$|num|size|len|count|idx|index|width|height|step|iter|dim|offset|stride|row|col|seed|max_|axis|shape|bins")
WHOLE_ELEMENTS = re.compile(r"(?i)idx|index|indices|offset|label|mask|count|ids$|ptr|order|perm|parent|neighbor|hist|keys|cell")


def source_of(path):
    """A file's text; of a notebook, its code."""
    text = path.read_text(errors="replace")
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text).get("cells", [])
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    parsed = []
    for cell in code:
        plain = "\n".join(line for line in cell.splitlines() if not line.lstrip().startswith(("%", "!", "?")))
        try:
            ast.parse(plain)
        except SyntaxError:
            continue
        parsed.append(plain)
    return "\n\n".join(parsed)


class Record:
    """Stands in for cuda.jit: compiles nothing yet, and keeps the types that a decorator gives."""

    def __init__(self, jit):
        self.jit = jit

    def __call__(self, of=None, argtypes=None, device=False, inline="never", fastmath=False, **_):
        signatures = argtypes if argtypes is not None else of if not callable(of) else None
        if signatures is not None and not isinstance(signatures, (list, tuple)):
            signatures = [signatures]

        def decorate(function):
            dispatcher = self.jit(getattr(function, "py_func", function), device=device, inline=inline, fastmath=fastmath)
            dispatcher.given_types = list(signatures or [])
            return dispatcher

        return decorate(of) if callable(of) else decorate


class Parameters:
    """What a kernel does with its parameters, and with those of the functions that it calls."""

    FINDINGS = ("is_whole", "is_complex", "has_whole_elements", "random_states")

    def __init__(self, node, names, nodes, callers=()):
        self.order = [argument.arg for argument in node.args.args]
        # By name: the number of indices, of parameters and variables.
        self.rank = collections.defaultdict(int)
        for found in self.FINDINGS:
            setattr(self, found, set())
        for inner in ast.walk(node):
            self.visit(inner)
            if isinstance(inner, ast.Call):
                self.visit_call(inner, names, nodes, (*callers, node.name))
        assigned = [inner for inner in ast.walk(node) if isinstance(inner, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and inner.value]
        known = None
        while known != (known := (len(self.is_whole), sum(self.rank.values()))):
            for inner in assigned:
                for target in inner.targets if isinstance(inner, ast.Assign) else [inner.target]:
                    self.visit_assigned(target, inner.value)

    def visit_assigned(self, target, value):
        """What a whole number is computed from is whole too, and what has an array as its element has more indices."""
        if not isinstance(target, ast.Name):
            return
        if target.id in self.is_whole:
            self.used_as_number(value)
        if self.rank[target.id] and isinstance(value, (ast.Name, ast.Subscript)):
            name, rank = self.indexed(value)
            self.of_array(ast.Name(name), rank + self.rank[target.id])

    def of_array(self, node, rank):
        if isinstance(node, ast.Attribute) and node.attr in ("real", "imag"):
            node = node.value
        if isinstance(node, ast.Name) and node.id:
            self.rank[node.id] = max(self.rank[node.id], rank)

    def indexed(self, node):
        """(name, number of indices) of an element."""
        rank = 0
        while isinstance(node, ast.Subscript):
            rank += len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
            node = node.value
        return (node.id if isinstance(node, ast.Name) else None), rank

    def used_as_number(self, node):
        """All that a range or an index is made of is whole, but for what a conversion takes."""
        if isinstance(node, ast.Subscript):
            self.has_whole_elements.add(self.indexed(node)[0])
        elif isinstance(node, ast.Name):
            self.is_whole.add(node.id)
        elif not isinstance(node, (ast.Call, ast.Attribute)) or ast.unparse(getattr(node, "func", node)) in ("min", "max", "abs"):
            for inner in ast.iter_child_nodes(node):
                self.used_as_number(inner)

    def visit(self, node):
        if isinstance(node, ast.Subscript):
            if isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "strides"):
                axis = node.slice.value if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int) else 0
                self.of_array(node.value.value, axis + 1)
            name, rank = self.indexed(node)
            self.of_array(ast.Name(name), rank)
            self.used_as_number(node.slice)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            target = node.targets[0]
            self.of_array(node.value.value, len(target.elts) if isinstance(target, ast.Tuple) else 1)
        elif isinstance(node, ast.Attribute):
            if node.attr in ("shape", "size", "ndim", "strides"):
                self.of_array(node.value, 1)
            elif node.attr in ("real", "imag"):
                self.is_complex.add(self.indexed(node.value)[0])
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.LShift, ast.RShift, ast.BitAnd)):
            self.used_as_number(node)

    @staticmethod
    def function_of(name, names, nodes):
        """(node, its names, nodes of its file) of a function of this file or one that it imports."""
        value = names.get(name)
        if name in nodes:
            return nodes[name], names, nodes
        function = getattr(value, "py_func", None)
        if not isinstance(function, types.FunctionType):
            return None
        try:
            file = ast.parse(Path(function.__code__.co_filename).read_text())
        except (OSError, SyntaxError):
            return None
        theirs = {node.name: node for node in ast.walk(file) if isinstance(node, ast.FunctionDef)}
        return (theirs[function.__name__], function.__globals__, theirs) if function.__name__ in theirs else None

    def visit_call(self, call, names, nodes, callers):
        name = ast.unparse(call.func)
        if name in ("range", "prange"):
            for bound in call.args:
                self.used_as_number(bound)
        elif name == "len" and call.args:
            self.of_array(call.args[0], 1)
        elif ".atomic." in name and len(call.args) > 1:
            at = call.args[1]
            self.of_array(call.args[0], len(at.elts) if isinstance(at, ast.Tuple) else 1)
        elif "xoroshiro128p" in name and call.args:
            self.random_states.add(getattr(call.args[0], "id", None))
        elif name not in callers and (function := self.function_of(name, names, nodes)):
            callee = Parameters(*function, callers)
            for given, parameter in zip(call.args, callee.order):
                if not isinstance(given, ast.Name):
                    continue
                self.of_array(given, callee.rank[parameter])
                for found in self.FINDINGS:
                    if parameter in getattr(callee, found):
                        getattr(self, found).add(given.id)

    def types(self, real, whole_elements):
        """Types for all parameters. Arrays have the elements `real`, or whole numbers where that is known or wanted for all."""
        from numba.cuda import types as numba
        from numba.cuda.random import xoroshiro128p_type

        found = []
        for name in self.order:
            rank = self.rank[name]
            if name in self.random_states:
                found.append(xoroshiro128p_type[::1])
            elif rank == 0:
                found.append(numba.int64 if name in self.is_whole or WHOLE.search(name) else real)
            else:
                is_whole = whole_elements or name in self.has_whole_elements or WHOLE_ELEMENTS.search(name)
                complex_of_real = numba.complex64 if real == numba.float32 else numba.complex128
                element = complex_of_real if name in self.is_complex else numba.int32 if is_whole else real
                found.append(numba.Array(element, rank, "C"))
        return tuple(found)


def kernels_of(names, text):
    """(name, function, decorator's types, parameters) of a file's own kernels."""
    nodes = {node.name: node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    found = []
    for name, value in names.items():
        function = getattr(value, "py_func", value)
        node = nodes.get(name)
        if not isinstance(function, types.FunctionType) or node is None or not node.decorator_list:
            continue
        if OF_A_THREAD.search(ast.unparse(node)) and not any("device=True" in ast.unparse(it) for it in node.decorator_list):
            if not any(isinstance(inner, ast.Return) and inner.value is not None for inner in ast.walk(node)):
                found.append((name, function, getattr(value, "given_types", None) or [], Parameters(node, names, nodes)))
    return found


def ir_of(function, signature):
    """What Numba hands to NVVM."""
    from numba import cuda
    from numba.cuda.cudadrv import nvvm

    class Saved(Exception):
        pass

    given = []

    def save(llvm_ir, **_):
        given.extend([llvm_ir] if isinstance(llvm_ir, (str, bytes)) else llvm_ir)
        raise Saved

    nvvm.compile_ir = save
    try:
        cuda.compile_ptx(function, signature, device=False, cc=CAPABILITY)
    except Saved:
        return [text if isinstance(text, str) else text.decode() for text in given]
    raise RuntimeError("Numba did not call NVVM")


def compiled(kernel, libdevice, module):
    """Writes a kernel's module, for the first types with which Numba compiles it. Returns why there is none."""
    from numba.cuda import types as numba

    name, function, given, parameters = kernel
    reals = (numba.float32, numba.float64) if zlib.crc32(name.encode()) % 2 else (numba.float64, numba.float32)
    made_up = (parameters.types(real, whole) for whole in (False, True) for real in reals)
    reason = None
    for signature in (*given, *made_up):
        try:
            texts = ir_of(function, signature)
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            continue
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for number, text in enumerate(texts):
                files.append(Path(folder) / f"{number}.ll")
                files[-1].write_text(text)
            linked = Path(folder) / "linked.bc"
            common.run([common.llvm_bin() / "llvm-link", "--internalize", "--only-needed", *files, libdevice, "-o", linked])
            common.run([common.llvm_bin() / "opt", "-O3", "-mcpu=sm_80", linked, "-o", module])
        return None
    return reason


def open_packages(path):
    """Lets a file import its neighbours without running what its packages import first."""
    folders = [folder for folder in path.parents if (folder / "__init__.py").exists()]
    for depth, folder in enumerate(reversed(folders)):
        name = ".".join(it.name for it in reversed(folders[len(folders) - 1 - depth :]))
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]

        def attribute(wanted, name=name):
            if wanted.startswith("__"):
                raise AttributeError(wanted)
            try:
                return importlib.import_module(f"{name}.{wanted}")
            except Exception:
                return StandIn

        package.__getattr__ = attribute
        sys.modules[name] = package


def load(path, text):
    """The names that the statements of a file define, with functions for decorators that Numba's stand for."""
    from numba import cuda

    open_packages(path)

    recorder = Record(cuda.jit)
    cuda.jit = recorder
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("numba") and getattr(module, "jit", None) is recorder.jit:
            module.jit = recorder
    names = loaded(path, text, ("cuda.jit", "numba.cuda.jit", "jit"))
    for name, value in names.items():
        # A decorator that was not found left the function as it is: others may call it.
        if isinstance(value, types.FunctionType) and value.__module__ == names["__name__"]:
            names[name] = recorder(value, device=True)
            names[name].given_types = None
    return names


def of_file(path, arguments):
    """Compiles a file's kernels, each in a process of its own."""
    sys.meta_path.append(MissingModules(("numba",)))
    text = source_of(path)
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        names = load(path, text)
    for kernel in kernels_of(names, text)[: arguments.most_kernels]:

        def work(kernel=kernel):
            try:
                reason = compiled(kernel, arguments.libdevice, arguments.output / f"{path.stem}.{kernel[0]}.bc")
            except BaseException as error:
                reason = f"{type(error).__name__}: {str(error)[:300]}"
            if reason:
                print(f"{path.name} {kernel[0]}: {reason}", file=sys.stderr, flush=True)

        if not common.in_process(work, arguments.seconds):
            print(f"{path.name} {kernel[0]}: no result in time", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--libdevice", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--most-kernels", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=60)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    # Before a project's folder of that name can be found.
    import numba.cuda.dispatcher
    import numba.cuda.random  # noqa: F401

    # Numba asks the GPU for which one it compiles a function that is called.
    numba.cuda.dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=CAPABILITY)
    for path in arguments.paths:
        files = sorted([*path.rglob("*.py"), *path.rglob("*.ipynb")]) if path.is_dir() else [path]
        for file in (file.resolve() for file in files):
            if not re.search(r"cuda\.jit|numba\.cuda|numba import.*cuda", file.read_text(errors="replace")):
                continue

            def work(file=file):
                try:
                    of_file(file, arguments)
                except BaseException as error:
                    print(f"{file.name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr, flush=True)

            common.in_process(work, arguments.seconds * arguments.most_kernels)


if __name__ == "__main__":
    sys.exit(main())
