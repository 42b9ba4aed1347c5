#!/usr/bin/env python3
"""Makes the corpus that judge.py reads: public kernels as LLVM bitcode, a folder for each project.

    scripts/make_corpus.py CHECKOUTS CORPUS --cuda-path CUDA [--include DIR]... [--numba PYTHON] [--triton PYTHON]
                           [--projects A,B] [--language L] [--most-files 12] [--seconds 90] [--errors]

CHECKOUTS has a checkout of each project of calibration/projects.tsv, in a folder that is named like the repository with `+` for `/`;
projects without one are left out. CUDA is a CUDA toolkit with its headers and libdevice. libclc for NVPTX is needed for OpenCL.
--numba is the Python of an environment with numba-cuda, --triton that of one with Triton; without them, projects with such kernels are
left out. See compile_numba.py and compile_triton.py.
Each --include is a folder with headers of another library, searched last; the comment of the list says which libraries are needed.
calibration/headers has the declarations that nvcc makes and clang doesn't, subgroups for OpenCL, and, in a folder named like the
project's, substitutes for headers that the project's build generates. --errors prints why files give no module.

Of each project, up to --most-files files with kernels that clang compiles are taken, in the order of a hash of their names, so that
the choice says nothing about the code and is the same in every run. Written are the modules, an `index.tsv` with a line for each
(project, file, SM, language), and a list of the projects of each part, such as `look.txt`. Nothing of it is to be committed.
"""

import argparse
import csv
import glob
import hashlib
import re
import shlex
import subprocess
from pathlib import Path

import common
import examples
import judging

PROJECTS = common.ROOT / "calibration" / "projects.tsv"
HEADERS = common.ROOT / "calibration" / "headers"
# Suites that others judge by. Projects that contain copies of them lose these files.
NOT_USED = ("rodinia", "hecbench", "hashcat", "clblast", "liger", "flash-linear-attention", "lightllm", "numba_cuda", "numba/cuda/tests")
SM = "80"
# Triton's code depends on the SM, whatever judge.py compiles it for: wgmma from sm_90 on.
TRITON_SMS = ("80", "90a")
LIBCLC = Path("/usr/lib/clc/nvptx64--nvidiacl.bc")
# Of each language: a word that files with kernels have (of CUDA none: the kernels can be in headers), and the flags.
OF_LANGUAGE = {
    "CUDA": (
        "",
        ["-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch=sm_{SM}", "-std=c++17", "-Wno-register"]
        + ["-Wno-unknown-cuda-version", "-D__NV_NO_HOST_COMPILER_CHECK=1", "-include", HEADERS / "nvcc.h"],
    ),
    "OpenCL": (
        "kernel",
        ["-x", "cl", "--target=nvptx64-nvidia-cuda", f"-march=sm_{SM}", "-cl-std=CL1.2", "-D__OPENCL_VERSION__=120"]
        + ["-Xclang", "-cl-ext=+cl_khr_fp16,+cl_khr_fp64,+cl_khr_int64_base_atomics,+cl_khr_int64_extended_atomics"]
        + ["-Xclang", "-target-feature", "-Xclang", examples.ptx_feature(SM), "-include", HEADERS / "opencl.h"]
        + ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", LIBCLC],
    ),
    "numba": ("numba", []),
    "Triton": ("triton.jit", []),
}
# Launches as nvcc accepts them and clang doesn't.
SPACED_LAUNCH = re.compile(r"<<\s+<|<\s+<<|>>\s+>|>\s+>>(?=\s*\()")
# A function of OpenCL that libclc doesn't have.
UNKNOWN_BUILTIN = re.compile(rb"^declare [^\n]*@(_Z\w+)", re.MULTILINE)


def listed():
    """The lines of the list."""
    lines = [line for line in PROJECTS.read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def folder_of(line):
    """The name of a project's folder, of its checkout and in the corpus."""
    return line["repository"].replace("/", "+")


def projects(arguments):
    """The lines whose projects have a checkout and are wanted, each with the checkout."""
    wanted = set(arguments.projects.split(",")) if arguments.projects else None
    for line in listed():
        folder = arguments.checkouts / folder_of(line)
        has_python = {"numba": arguments.numba, "Triton": arguments.triton}.get(line["language"], True)
        of_language = arguments.language in (None, line["language"])
        if folder.is_dir() and of_language and has_python and (wanted is None or line["repository"] in wanted):
            yield line, folder


def sources(line, folder):
    """The project's files that define kernels, in the order in which they are tried."""
    sign = OF_LANGUAGE[line["language"]][0]
    found = {path for pattern in line["files"].split() for path in folder.glob(pattern) if path.is_file()}
    names = {path.relative_to(folder): path for path in found}
    used = [name for name in names if not any(word in str(name).lower() for word in NOT_USED)]
    ordered = sorted(used, key=lambda name: hashlib.sha256(str(name).encode()).hexdigest())
    return [names[name] for name in ordered if sign in names[name].read_text(errors="replace").lower()]


def configured(flags, folder, into):
    """The flags with each `--configure=PATH.h.in` made a folder that has the header: CMake's lines are off, its values are 0. In the place of
    --every-folder are all folders of the checkout that have headers."""
    used = []
    for flag in flags:
        if flag == "--every-folder":
            headers = (path.parent for suffix in ("h", "cuh", "hpp") for path in folder.rglob(f"*.{suffix}"))
            used += [f"-I{path}" for path in sorted(set(headers))]
            continue
        if not flag.startswith("--configure="):
            used.append(flag)
            continue
        template = Path(flag.removeprefix("--configure="))
        into.mkdir(parents=True, exist_ok=True)
        text = re.sub(r"^\s*#\s*cmakedefine.*$", "", template.read_text(), flags=re.MULTILINE)
        (into / template.stem).write_text(re.sub(r"@\w+@|\$\{\w+\}", "0", text))
        used.append(f"-I{into}")
    return used


def compiled(source, line, folder, result, arguments):
    """Compiles the file to a module with a kernel; the first error, or None where there is none."""
    places = {"{root}": folder, "{checkouts}": arguments.checkouts, "{headers}": HEADERS}
    flags = line["flags"]
    for name, place in places.items():
        flags = flags.replace(name, str(place))
    try:
        flags = configured(shlex.split(flags), folder, arguments.corpus / ".headers" / folder_of(line))
    except FileNotFoundError as error:
        return f"error: {error.filename}, from which a header is made, is missing"
    of_language = OF_LANGUAGE[line["language"]][1]
    if line["language"] == "CUDA":
        of_language = [*of_language, f"--cuda-path={arguments.cuda_path}"]
    searched = (HEADERS / folder_of(line), folder, folder / "include", folder / "src")
    includes = ["-iquote", source.parent, *(f"-I{path}" for path in searched)]
    includes += [f"-idirafter{path}" for path in arguments.include]
    command = [common.llvm_bin() / "clang++", *of_language, "-O3", "-w", "-emit-llvm", "-c", *flags, *includes]
    text = source.read_text(errors="surrogateescape")
    spaced = line["language"] == "CUDA" and SPACED_LAUNCH.search(text)
    if spaced:
        text = f'# 1 "{source}"\n' + SPACED_LAUNCH.sub(lambda launch: launch[0][0] * 3, text)
    try:
        subprocess.run(
            [*command, "-" if spaced else source, "-o", result],
            input=text.encode(errors="surrogateescape") if spaced else b"",
            check=True,
            capture_output=True,
            timeout=arguments.seconds,
            cwd=folder,
        )
    except subprocess.CalledProcessError as error:
        printed = error.stderr.decode(errors="replace")
        return next((one for one in printed.splitlines() if "error:" in one), printed[:200])
    except subprocess.TimeoutExpired:
        return "not within --seconds"
    text = subprocess.run([common.llvm_bin() / "llvm-dis", result, "-o", "-"], check=True, capture_output=True).stdout
    if b"define" not in text or b"ptx_kernel" not in text:
        error = "no kernel"
    elif line["language"] == "OpenCL" and (unknown := UNKNOWN_BUILTIN.search(text)):
        error = f"libclc doesn't have {unknown[1].decode()}"
    else:
        return None
    result.unlink()
    return error


def compiled_python(source, into, line, arguments):
    """Compiles the kernels of a file to a module each; the names of the modules with their SMs, and what Numba or Triton refuses."""
    if line["language"] == "numba":
        libdevice = arguments.cuda_path / "nvvm" / "libdevice" / "libdevice.10.bc"
        command = [arguments.numba, Path(__file__).with_name("compile_numba.py"), "--libdevice", libdevice]
    else:
        command = [arguments.triton, Path(__file__).with_name("compile_triton.py"), "--target", ",".join(TRITON_SMS)]
    command += ["--output", into, "--most-kernels", "6", "--seconds", str(arguments.seconds), source]
    said = subprocess.run(command, capture_output=True, text=True).stderr
    stem = glob.escape(source.stem)
    numba = [(module.name, SM) for module in into.glob(f"{stem}.*.bc")]
    triton = [(module.name, sm) for sm in TRITON_SMS for module in into.glob(f"{stem}.*.{sm}.ll")]
    return sorted(numba if line["language"] == "numba" else triton), said.splitlines()


def of_project(line, folder, arguments):
    """Compiles one project's files; the index's lines, and the error of each file that doesn't compile."""
    into = arguments.corpus / folder_of(line)
    into.mkdir(parents=True, exist_ok=True)
    rows, errors, files = [], [], 0
    for source in sources(line, folder)[: 4 * arguments.most_files]:
        name = "__".join(source.relative_to(folder).parts) + ".bc"
        if line["language"] in ("numba", "Triton"):
            modules, refused = compiled_python(source, into, line, arguments)
        else:
            error = None if (into / name).exists() else compiled(source, line, folder, into / name, arguments)
            modules, refused = ([], [f"{source.relative_to(folder)}: {error}"]) if error else ([(name, SM)], [])
        rows += [(into.name, name, sm, line["language"]) for name, sm in modules]
        errors += refused
        files += bool(modules)
        if files == arguments.most_files:
            break
    return rows, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--cuda-path", type=Path, required=True)
    parser.add_argument("--include", type=Path, action="append", default=[])
    parser.add_argument("--numba", type=Path)
    parser.add_argument("--triton", type=Path)
    parser.add_argument("--projects")
    parser.add_argument("--language", choices=list(OF_LANGUAGE))
    parser.add_argument("--most-files", type=int, default=12)
    parser.add_argument("--errors", action="store_true", help="print the first error of each file that gives no module")
    parser.add_argument("--seconds", type=int, default=90)
    arguments = parser.parse_args()
    arguments.checkouts, arguments.corpus = arguments.checkouts.resolve(), arguments.corpus.resolve()
    arguments.corpus.mkdir(parents=True, exist_ok=True)
    index = arguments.corpus / "index.tsv"
    found = list(projects(arguments))
    rows = common.parallel("corpus", lambda one: of_project(*one, arguments), found)
    kept = set(index.read_text().splitlines()) if index.exists() else set()
    lines = sorted(kept | {"\t".join(row) for of_one, _ in rows for row in of_one})
    index.write_text("".join(f"{line}\n" for line in lines))
    present = {line.split("\t")[0] for line in lines}
    for part in judging.PARTS:
        names = sorted({folder_of(line) for line in listed() if line["part"] == part})
        (arguments.corpus / f"{part}.txt").write_text("".join(f"{name}\n" for name in names if name in present))
    for (line, _), (of_one, errors) in zip(found, rows):
        print(f"{line['repository']:45}{line['language']:8}{line['part']:9}{len(of_one):4} modules")
        if arguments.errors:
            print("".join(f"    {error}\n" for error in errors), end="")


if __name__ == "__main__":
    main()
