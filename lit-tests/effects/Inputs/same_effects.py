"""Compares what kernels do to memory, and to the world, with the plug-in and without it.

    same_effects.py LLC PLUGIN ORIEL SOURCE

Runs LLC on SOURCE with each phase alone, at each stage that it accepts, with all that a profile has and with all there are, at -O1 to
-O3, and checks each kernel's PTX:

- memory accesses, unknown instructions, inline assembly and reads of the clock are those of llc alone, in the same order but for loads
  that stand together;
- behind `// early A reads B C` in inline assembly, A is neither B nor C; behind `// tied A B` both are one register;
- where the source says `; ONE-LOAD: kernel`, at most one load of shared or global memory is left if GvnCse or LateOriCommoning run.
"""

import concurrent.futures
import json
import re
import shlex
import subprocess
import sys

llc, plugin, oriel, source = sys.argv[1:]

# What does nothing that anyone could see but by its result.
SILENT = re.compile(
    r"(ld\.param|st\.param|mov|cvta?|add|sub|mul|mad|shl|shr|and|or|xor|not|neg|setp|selp|bra|min|max|fma|abs|popc|clz|brev|bfe|bfi|prmt|ret)\b"
)
LINE = re.compile(r"^\s+(?:@!?%p\d+\s+)?([a-z_][\w.:]*)\b[^;]*;", re.MULTILINE)
ASSEMBLY = re.compile(r"// begin inline asm\n(.*?)// end inline asm", re.DOTALL)


def kernels(ptx):
    """The bodies of the kernels by name."""
    parts = re.split(r"\.entry (\w+)\(", ptx)
    return dict(zip(parts[1::2], parts[2::2]))


def effects(body):
    """What a kernel does that can be seen, in order, with registers left out."""
    found = []
    # Whatever assembly does, it counts as a whole.
    body = ASSEMBLY.sub(lambda match: "\tassembly." + re.sub(r"\W+", "_", re.sub(r"%\w+", "", match[1])) + " x;\n", body)
    body = re.sub(r"mov\.\w+\s+%\w+, %clock", "clock", body)
    loads = []
    for mnemonic in LINE.findall(body):
        if re.match(r"ld\.(global|shared|local)", mnemonic):
            loads.append(mnemonic)
        elif not SILENT.match(mnemonic):
            found += [*sorted(loads), mnemonic]
            loads = []
    return found + sorted(loads)


def wrong_registers(body):
    """What is wrong with the registers of inline assembly."""
    for written, read in re.findall(r"// early (%\w+) reads((?: %\w+)*)", body):
        if written in read.split():
            yield f"{written} is written before it is read"
    for one, other in re.findall(r"// tied (%\w+) (%\w+)", body):
        if one != other:
            yield f"{one} and {other} are tied"


def compile_with(arguments):
    """The PTX, and what llc says, with these arguments."""
    command = [*shlex.split(llc), *arguments, source, "-o", "-"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode or "oriel" in result.stderr:
        sys.exit(f"{shlex.join(command)}\n{result.stderr}")
    return result.stdout


def problems(level, phases):
    """What is wrong with the PTX at a level with an option that says which phases run."""
    load = [f"-load={plugin}", "-oriel-verify", "-verify-machineinstrs"]
    before, after = (kernels(compile_with([level, *options])) for options in ([], [*load, *phases]))
    name = " ".join([level, *phases])
    removes = phases and re.search("GvnCse|LateOriCommoning|profile", phases[0])
    for kernel, body in after.items():
        for problem in wrong_registers(body):
            yield f"{name}: {kernel}: {problem}"
        expected, found = effects(before[kernel]), effects(body)
        if kernel in one_load:
            loads = [mnemonic for mnemonic in found if re.match(r"ld\.(global|shared)", mnemonic)]
            if removes and len(loads) > 1:
                yield f"{name}: {kernel}: {len(loads)} loads are left"
        elif expected != found:
            yield f"{name}: {kernel}: {expected} became {found}"
    for kernel, body in before.items():
        for problem in wrong_registers(body):
            yield f"llc alone: {kernel}: {problem}"


one_load = set(re.findall(r"^; ONE-LOAD: (\w+)", open(source).read(), re.MULTILINE))
rows = subprocess.run([oriel, "phases", "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
rows = [row for row in map(json.loads, rows) if row["is_part_of_oriel"]]
names = [row["name"] for row in rows]
selections = [[], ["-oriel-least-pressure=0"], ["-oriel-profile=ptxas"], [f"-oriel-phases={','.join(names)}"]]
selections += [[f"-oriel-phases={row['name']}@{form}"] for row in rows for form in row["forms"]]
selections += [
    [f"-oriel-phases=ReorderInstructions@{form}", f"-oriel-knob=InstructionOrder={order}"]
    for form in ("ssa", "late")
    for order in range(1, 9)
]
work = [(level, phases) for level in ("-O1", "-O2", "-O3") for phases in selections]
with concurrent.futures.ThreadPoolExecutor() as pool:
    found = [problem for some in pool.map(lambda task: list(problems(*task)), work) for problem in some]
if found:
    sys.exit("\n".join(found))
