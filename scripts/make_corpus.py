#!/usr/bin/env python3
"""Makes the corpus that judge.py reads: public kernels as LLVM bitcode, a folder for each project.

    scripts/make_corpus.py CHECKOUTS CORPUS --cuda-path CUDA [--projects A,B] [--most-files 12] [--seconds 90]

CHECKOUTS has a checkout of each project of calibration/projects.tsv, in a folder that is named like the repository with `+` for `/`;
projects without one are left out. CUDA is a CUDA toolkit with its headers and libdevice. libclc for NVPTX is needed for OpenCL.

Of each project, up to --most-files files with kernels that clang compiles are taken, in the order of a hash of their names, so that
the choice says nothing about the code and is the same in every run. Written are the modules, an `index.tsv` with a line for each
(project, file, SM, language), and `look.txt` and `held_out.txt` with the projects of either part. Nothing of it is to be committed.
"""

import argparse
import csv
import hashlib
import subprocess
from pathlib import Path

import common

PROJECTS = common.ROOT / "calibration" / "projects.tsv"
# Suites that others judge by. Projects that contain copies of them lose these files.
NOT_USED = ("rodinia", "hecbench", "hashcat", "clblast", "liger", "flash-linear-attention", "lightllm", "numba")
SM = "80"
LIBCLC = Path("/usr/lib/clc/nvptx64--.bc")
OF_LANGUAGE = {
    "CUDA": ("__global__", ["-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch=sm_{SM}", "-std=c++17", "-Wno-register", "-Wno-unknown-cuda-version"]),
    "OpenCL": (
        "kernel",
        ["-x", "cl", "--target=nvptx64-nvidia-cuda", f"-march=sm_{SM}", "-cl-std=CL3.0"]
        + ["-Xclang", "-target-feature", "-Xclang", "+ptx86"]
        + ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(LIBCLC)],
    ),
}


def listed():
    """The lines of the list."""
    lines = [line for line in PROJECTS.read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines, delimiter="\t"))


def folder_of(line):
    """The name of a project's folder, of its checkout and in the corpus."""
    return line["repository"].replace("/", "+")


def projects(arguments):
    """The lines whose projects have a checkout and are wanted, each with the checkout."""
    wanted = set(arguments.projects.split(",")) if arguments.projects else None
    for line in listed():
        folder = arguments.checkouts / folder_of(line)
        if folder.is_dir() and (wanted is None or line["repository"] in wanted):
            yield line, folder


def sources(line, folder):
    """The project's files that define kernels, in the order in which they are tried."""
    mark = OF_LANGUAGE[line["language"]][0]
    found = {path for pattern in line["files"].split() for path in folder.glob(pattern) if path.is_file()}
    names = {path.relative_to(folder): path for path in found}
    used = [name for name in names if not any(word in str(name).lower() for word in NOT_USED)]
    ordered = sorted(used, key=lambda name: hashlib.sha256(str(name).encode()).hexdigest())
    return [names[name] for name in ordered if mark in names[name].read_text(errors="replace")]


def compiled(source, line, folder, result, arguments):
    """Whether clang compiles the file to a module with a kernel."""
    flags = [flag.replace("{root}", str(folder)) for flag in line["flags"].split()]
    of_language = OF_LANGUAGE[line["language"]][1]
    if line["language"] == "CUDA":
        of_language = [*of_language, f"--cuda-path={arguments.cuda_path}"]
    includes = [f"-I{path}" for path in (source.parent, folder, folder / "include", folder / "src")]
    command = [common.llvm_bin() / "clang++", *of_language, "-O3", "-w", "-emit-llvm", "-c", *flags, *includes, source, "-o", result]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=arguments.seconds, cwd=folder)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return False
    text = subprocess.run([common.llvm_bin() / "llvm-dis", result, "-o", "-"], check=True, capture_output=True).stdout
    if b"define" in text and b"ptx_kernel" in text:
        return True
    result.unlink()
    return False


def of_project(line, folder, arguments):
    """Compiles one project's files; the index's lines."""
    into = arguments.corpus / folder_of(line)
    into.mkdir(parents=True, exist_ok=True)
    rows = []
    for source in sources(line, folder)[: 4 * arguments.most_files]:
        name = "__".join(source.relative_to(folder).parts) + ".bc"
        if (into / name).exists() or compiled(source, line, folder, into / name, arguments):
            rows.append((into.name, name, SM, line["language"]))
        if len(rows) == arguments.most_files:
            break
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--cuda-path", type=Path, required=True)
    parser.add_argument("--projects")
    parser.add_argument("--most-files", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=90)
    arguments = parser.parse_args()
    arguments.checkouts, arguments.corpus = arguments.checkouts.resolve(), arguments.corpus.resolve()
    arguments.corpus.mkdir(parents=True, exist_ok=True)
    index = arguments.corpus / "index.tsv"
    found = list(projects(arguments))
    rows = common.parallel("corpus", lambda one: of_project(*one, arguments), found)
    kept = set(index.read_text().splitlines()) if index.exists() else set()
    lines = sorted(kept | {"\t".join(row) for of_one in rows for row in of_one})
    index.write_text("".join(f"{line}\n" for line in lines))
    present = {line.split("\t")[0] for line in lines}
    for part in ("look", "held_out"):
        names = sorted({folder_of(line) for line in listed() if line["part"] == part})
        (arguments.corpus / f"{part}.txt").write_text("".join(f"{name}\n" for name in names if name in present))
    for (line, _), of_one in zip(found, rows):
        print(f"{line['repository']:45}{line['language']:8}{line['part']:9}{len(of_one):4} modules")


if __name__ == "__main__":
    main()
