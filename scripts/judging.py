"""What judge.py shares with other scripts: the modules of a corpus and their PTX, warps, and sums of what is better and worse."""

import hashlib
import re
import shlex
import subprocess

import common
import examples
import ptxas

# Whatever is tuned is tuned on the first; only the estimate has seen the last.
PARTS = ("look", "held_out", "later", "latest")
# Warps a multiprocessor holds, by SM; 64 where none is named.
MOST_WARPS = {75: 32, 86: 48, 89: 48, 120: 48}
REGISTERS = 65536
# The options that Triton sets for its own LLVM.
AS_IN_TRITON = ["-nvptx-short-ptr", "-nvptx-mad-wide-opt", "-fp-contract=fast"]


def modules(arguments):
    """(project, path, sm, language) of the part that is judged."""
    parts = {}
    for part in PARTS:
        projects = arguments.corpus / f"{part}.txt"
        if projects.exists():
            parts.update((name, part) for name in projects.read_text().split())
    wanted = set(arguments.projects.split(",")) if arguments.projects else None
    for line in (arguments.corpus / "index.tsv").read_text().splitlines():
        project, file, sm, language = line.split("\t")[:4]
        if arguments.part in ("all", parts.get(project)) and (wanted is None or project in wanted):
            yield project, arguments.corpus / project / file, sm.removeprefix("sm_"), language


def compiled(path, sm, language, flags):
    """The PTX of a module, by llc alone if `flags` is None, else with Oriel; None if LLVM refuses the module or takes too long."""
    command = examples.llc_command(path, "-", sm, "3")
    if language == "Triton":
        command[1:1] = AS_IN_TRITON
    if flags is not None:
        command[1:1] = [f"-load={common.plugin()}", *shlex.split(flags)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    except subprocess.TimeoutExpired:
        return None
    if result.returncode:
        return None
    return ptxas.without_debug(result.stdout) if language == "Triton" else result.stdout


def codes(ptx):
    """A hash of every kernel's code: the same for kernels that differ in names only."""
    found = {}
    for kernel in re.finditer(r"^[.\w ]*\.entry ([\w$.]+)\(.*?-- End function\n\}", ptx, re.DOTALL | re.MULTILINE):
        code = re.sub(r"\s*//.*|\s*\.loc\s.*|\$L__BB\d+", "", kernel.group(0).replace(kernel.group(1), "kernel"))
        found[kernel.group(1)] = hashlib.sha256(code.encode()).hexdigest()
    return found


def most_warps(sm):
    """The warps of a multiprocessor."""
    return MOST_WARPS.get(sm, 64)


def warps(registers, sm):
    """The warps that registers allow: a warp gets them in units of 256, from one of four parts of the multiprocessor."""
    of_warp = -(-max(registers, 1) * 32 // 256) * 256
    return min(REGISTERS // 4 // of_warp * 4, most_warps(sm))


def is_better(figure, value, than):
    """Whether a value is better than another: more warps, less of any other figure."""
    return value > than if figure == "warps" else value < than


def totals(rows, way, figure):
    """The sum of a figure over kernels, whose figures each row has by way, and for how many it is better and worse than by llc alone."""
    pairs = [(row[way][figure], row["llc"][figure]) for row in rows]
    better = sum(is_better(figure, value, alone) for value, alone in pairs)
    worse = sum(is_better(figure, alone, value) for value, alone in pairs)
    return sum(value for value, _ in pairs), better, worse
