"""ptxas: where it is, what it makes of PTX, and how long that takes."""

import functools
import hashlib
import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

import common


# A function that another module has.
EXTERNAL = re.compile(r"^\.extern \.func\s+(?:\([^)]*\)\s*)?([\w$]+)", re.MULTILINE)
# System calls, which programs that are not linked have too.
SYSTEM_CALLS = {"vprintf", "__assertfail", "malloc", "free"}


def executable():
    """LLVM_PTXAS_EXECUTABLE, else ptxas in PATH, else that of the Python package nvidia-cuda-nvcc; or None."""
    if named := os.environ.get("LLVM_PTXAS_EXECUTABLE") or shutil.which("ptxas"):
        return named
    spec = importlib.util.find_spec("nvidia")
    folders = spec.submodule_search_locations if spec else []
    found = [path for folder in folders for path in sorted(Path(folder).glob("*/bin/ptxas"))]
    return str(found[0]) if found else None


def required():
    """The same for a script that cannot do without: it ends, and says so, where there is none."""
    if program := executable():
        return program
    script = Path(sys.argv[0]).name
    sys.exit(f"{script}: ptxas is not installed: set LLVM_PTXAS_EXECUTABLE, or `pip install nvidia-cuda-nvcc`")


@functools.cache
def release(program):
    """The release of a ptxas, such as V13.0.88."""
    printed = common.run([program, "--version"]).stdout
    match = re.search(r"\bV[\d.]+", printed)
    return match.group() if match else printed.strip()


def command_of(program, ptx, cubin, sm, limit=0, to_link=False):
    """The command that assembles PTX, be it `to_link` later, and says what each function needs; `limit` is that of registers, 0 none."""
    command = [program, "-v", f"-arch=sm_{sm}", str(ptx), "-o", str(cubin)]
    return command + ([f"--maxrregcount={limit}"] if limit else []) + (["--compile-only"] if to_link else [])


def calls_elsewhere(ptx):
    """Whether PTX calls functions of other modules, so that it can only be assembled to be linked."""
    return bool(set(EXTERNAL.findall(ptx)) - SYSTEM_CALLS)


def without_debug(ptx):
    """PTX without the mark that makes ptxas compile for a debugger; Triton takes it out, too."""
    return re.sub(r"^(\.target sm_\w+), debug", r"\1", ptx, flags=re.MULTILINE)


def figures(program, ptx, cubin, sm, limit=0, to_link=False):
    """By function: registers, which device functions have none of, bytes of stack, of spill stores and of spill loads, instructions."""
    text, found, name = common.run(command_of(program, ptx, cubin, sm, limit, to_link)).stderr, {}, None
    for line in text.splitlines():
        if match := re.search(r"(?:Compiling entry function|Function properties for) '?([\w$]+)", line):
            name = match.group(1)
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            stack, stores, loads = map(int, match.groups())
            found.setdefault(name, {}).update(stack_bytes=stack, spill_store_bytes=stores, spill_load_bytes=loads)
        elif match := re.search(r"Used (\d+) registers", line):
            found.setdefault(name, {})["registers"] = int(match.group(1))
    for name, size in code_sizes(cubin).items():
        if name in found:
            found[name]["sass_instructions"] = size // 16
    return found


def assemble(program, ptx, cubin, sm, limit=0):
    """By function: registers, spill stores and spill loads in bytes, instructions."""
    names = ("registers", "spill_store_bytes", "spill_load_bytes", "sass_instructions")
    found = figures(program, ptx, cubin, sm, limit)
    return {function: [values.get(name, 0) for name in names] for function, values in found.items()}


def code_sections(cubin):
    """Offset and size in bytes of each function's section of code."""
    command = [common.llvm_bin() / "llvm-readelf", "-S", "-W", cubin]
    section = r"\.text\.([\w$]+)\s+PROGBITS\s+\S+\s+([0-9a-f]+)\s+([0-9a-f]+)"
    return {name: (int(offset, 16), int(size, 16)) for name, offset, size in re.findall(section, common.run(command).stdout)}


def code_sizes(cubin):
    """Bytes of each function's section of code; an instruction has sixteen."""
    return {name: size for name, (_, size) in code_sections(cubin).items()}


def code_hashes(cubin):
    """A hash of each function's machine code."""
    data = Path(cubin).read_bytes()
    sections = code_sections(cubin).items()
    return {name: hashlib.sha256(data[offset : offset + size]).hexdigest() for name, (offset, size) in sections}


def seconds(program, ptx, cubin, sm):
    """CPU time of one run."""
    return common.spent(command_of(program, ptx, cubin, sm))[0]
