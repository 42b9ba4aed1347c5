#!/usr/bin/env python3
"""List and compile the example kernels. The clang and llc command lines of the examples are written here only.

    scripts/examples.py list
    scripts/examples.py compile SOURCE --sm 80 -O2 [-g] [--fp-contract off] -o out.bc
    scripts/examples.py assemble SOURCE --sm 80 -O2 [-g] [--fp-contract off] -o out.ptx
    scripts/examples.py check [SOURCE ...] [--sm 50,80] [-O 1,2,3] [--jobs N]

clang and llc come from the folder in ORIEL_LLVM_BIN if it is set, else from `llvm-config-22 --bindir`, else from
`llvm-config --bindir`. ptxas comes from LLVM_PTXAS_EXECUTABLE if it is set, else from PATH, else from the Python package
nvidia-cuda-nvcc; `check` does without it if there is none.
"""

import argparse
import concurrent.futures
import functools
import subprocess
import sys
import tempfile
from pathlib import Path

import common
import ptxas

EXAMPLES = common.ROOT / "examples"
# Of LLVM IR and bitcode.
MODULES = (".ll", ".bc")

# PTX 8.6 is the first version that knows sm_100, and it still accepts sm_50. The NVPTX back end has one subtarget a
# module and does not read the `target-features` attribute of functions: llc must get the feature as -mattr too.
PTX_FEATURE = "+ptx86"
# Later ones ask for a later version, which does not know the oldest any more.
LATER_PTX_FEATURE = "+ptx88"
# Those that CUDA 13 added.
NEWEST_PTX_FEATURE = "+ptx90"
NEWEST_SMS = (88, 110)
SM_VERSIONS = ("50", "70", "80", "90", "100")
OPT_LEVELS = ("1", "2", "3")
PTXAS_SM_VERSIONS = ("80", "90", "100")


def examples():
    """All kernel sources, relative to the root of the repository, sorted."""
    sources = [path for path in EXAMPLES.rglob("*") if path.suffix in (".cu", ".cl")]
    return sorted(path.relative_to(common.ROOT) for path in sources)


def sources_of(names):
    """The sources of these names, of a folder its modules; without names the examples."""
    found = []
    for path in map(Path, names):
        found += sorted(file for file in path.rglob("*") if file.suffix in MODULES) if path.is_dir() else [path]
    return found if names else examples()


@functools.cache
def resource_dir():
    """Where clang keeps its own headers."""
    command = [common.llvm_bin() / "clang", "-print-resource-dir"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def ptx_feature(sm):
    """The PTX version that code for an SM, such as 80 or 90a, is compiled to."""
    number = int(sm.rstrip("af"))
    if number in NEWEST_SMS:
        return NEWEST_PTX_FEATURE
    return LATER_PTX_FEATURE if number > 100 else PTX_FEATURE


def device_flags(suffix, sm):
    """clang's flags for device code in CUDA, or in OpenCL C (.cl), that needs nobody else's headers and libraries."""
    if suffix == ".cl":
        flags = ["-x", "cl", "-cl-std=CL2.0", "--target=nvptx64-nvidia-cuda", f"-march=sm_{sm}"]
        return flags + ["-nogpulib", "-cl-no-stdinc", "-Xclang", "-target-feature", "-Xclang", ptx_feature(sm)]
    flags = ["-x", "cuda", "-std=c++17", "--cuda-device-only", f"--cuda-gpu-arch=sm_{sm}"]
    flags += [f"--cuda-feature={ptx_feature(sm)}", "-nocudainc", "-nocudalib", "-nostdinc++"]
    # clang looks at the version of a ptxas in PATH, which nothing here uses.
    return flags + ["-fno-gpu-flush-denormals-to-zero", "-Wno-unknown-cuda-version"]


def clang_command(source, output_bc, sm="80", opt_level="2", debug=False, fp_contract=None, light=False):
    """The command that compiles `source` to bitcode; to be run in the root of the repository.

    With `fp_contract` off, llc fuses no multiplication and addition that the source has apart. A `light` compilation leaves
    out LLVM's passes over its IR, so that llc gets what a simple front end hands to it.

    The paths in the output are relative to that root, so that two checkouts give the same bytes.
    """
    source = Path(source)
    if source.is_absolute():
        if not source.is_relative_to(common.ROOT):
            sys.exit(f"examples.py: {source} is not below {common.ROOT}: debug information is relative to it")
        source = source.relative_to(common.ROOT)
    command = [str(common.llvm_bin() / "clang"), *device_flags(source.suffix, sm), "-I", "examples/include", f"-O{opt_level}"]
    # threadIdx and its like are unsigned, and GPU code mixes them with int as a matter of course.
    command += ["-Wall", "-Wextra", "-Wno-sign-compare", "-Werror"]
    command += ["-fdebug-compilation-dir=.", f"-ffile-prefix-map={resource_dir()}=clang"]
    if fp_contract:
        command.append(f"-ffp-contract={fp_contract}")
    if light:
        command[command.index(f"-O{opt_level}")] = "-O1"
        command += ["-Xclang", "-disable-llvm-passes"]
    if debug:
        # clang reduces -g to line tables for optimised device code; the examples want variables as well.
        command += ["-g", "-Xclang", "-debug-info-kind=constructor"]
    return command + ["-emit-llvm", "-c", str(source), "-o", str(output_bc)]


def bitcode_of(source, folder, sm="80", light=False):
    """The module that llc gets of a source: the source itself if it is one, else its bitcode, which is written to the folder."""
    if Path(source).suffix in MODULES:
        return Path(source).resolve()
    bitcode = Path(folder) / "in.bc"
    common.run(clang_command(source, bitcode, sm, light=light))
    return bitcode


def llc_command(input_bc, output_ptx, sm="80", opt_level="2"):
    """The command that turns the bitcode of `clang_command` into PTX."""
    command = [str(common.llvm_bin() / "llc"), f"-mcpu=sm_{sm}", f"-mattr={ptx_feature(sm)}", f"-O{opt_level}"]
    return command + [str(input_bc), "-o", str(output_ptx)]


def run_quietly(command):
    """Runs a command; what it prints, warnings included, or why it failed. Empty if all is well."""
    result = subprocess.run(command, cwd=common.ROOT, capture_output=True, text=True, check=False)
    printed = (result.stdout + result.stderr).strip()
    return printed if result.returncode == 0 else f"exit status {result.returncode}\n{printed}"


def check_one(source, sm, opt_level, debug):
    """clang, llc and, where it is asked for, ptxas on one configuration; returns (name, problem or "")."""
    name = f"{source} sm_{sm} -O{opt_level}{' -g' if debug else ''}"
    with tempfile.TemporaryDirectory() as folder:
        bitcode, ptx = Path(folder) / "out.bc", Path(folder) / "out.ptx"
        commands = [clang_command(source, bitcode, sm, opt_level, debug), llc_command(bitcode, ptx, sm, opt_level)]
        assembler = ptxas.executable()
        if assembler and sm in PTXAS_SM_VERSIONS and opt_level == "2":
            commands.append([assembler, f"-arch=sm_{sm}", str(ptx), "-o", str(Path(folder) / "out.cubin")])
        for command in commands:
            if problem := run_quietly(command):
                return name, f"{Path(command[0]).name}: {problem}"
        for line in ptx.read_text().splitlines():
            if line.startswith(".extern .func"):
                return name, f"unresolved function: {line}"
    return name, ""


def check(arguments):
    """Every source in every configuration; 1 if one of them has a problem."""
    sources = [Path(source) for source in arguments.sources] or examples()
    work = [
        (source, sm, opt_level, debug)
        for source in sources
        for sm in arguments.sm.split(",")
        for opt_level in arguments.opt_level.split(",")
        for debug in (False, True)
    ]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for name, problem in pool.map(lambda item: check_one(*item), work):
            if problem:
                failures += 1
                print(f"FAIL {name}\n{problem}", flush=True)
    print(f"{len(work) - failures} of {len(work)} configurations of {len(sources)} sources compiled without a message")
    return 1 if failures else 0


def compile_one(arguments):
    """`compile` and `assemble`: the exit status of the first command that fails, else 0."""
    configuration = (arguments.sm, arguments.opt_level)
    source = Path(arguments.source).resolve()
    if arguments.action == "compile":
        command = clang_command(source, Path(arguments.output).resolve(), *configuration, arguments.debug,
                                arguments.fp_contract)
        return subprocess.run(command, cwd=common.ROOT, check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        bitcode = Path(folder) / "out.bc"
        clang = clang_command(source, bitcode, *configuration, arguments.debug, arguments.fp_contract)
        llc = llc_command(bitcode, Path(arguments.output).resolve(), *configuration)
        for command in (clang, llc):
            if status := subprocess.run(command, cwd=common.ROOT, check=False).returncode:
                return status
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="print the kernel sources")
    for action, output in (("compile", "bitcode"), ("assemble", "PTX")):
        sub = actions.add_parser(action, help=f"compile one source to {output}")
        sub.add_argument("source")
        sub.add_argument("--sm", default="80", choices=SM_VERSIONS)
        sub.add_argument("-O", dest="opt_level", default="2", choices=("0",) + OPT_LEVELS)
        sub.add_argument("-g", dest="debug", action="store_true")
        sub.add_argument("--fp-contract", choices=("off", "on", "fast"), help="clang's -ffp-contract")
        sub.add_argument("-o", dest="output", required=True)
    sub = actions.add_parser("check", help="compile every source in every configuration and report problems")
    sub.add_argument("sources", nargs="*")
    sub.add_argument("--sm", default=",".join(SM_VERSIONS))
    sub.add_argument("-O", dest="opt_level", default=",".join(OPT_LEVELS))
    sub.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.action == "list":
        print("\n".join(str(source) for source in examples()))
        return 0
    return check(arguments) if arguments.action == "check" else compile_one(arguments)


if __name__ == "__main__":
    sys.exit(main())
