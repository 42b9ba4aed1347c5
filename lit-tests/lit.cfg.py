"""The lit suite of Oriel: `lit lit-tests`, or `scripts/run_lit.sh`, which finds lit and LLVM's tools.

Environment:
    ORIEL_PLUGIN    liboriel.so            [default: the release build's, else the debug build's]
    ORIEL_LABORATORY  liboriel_laboratory.so  [default: beside what ORIEL_PLUGIN names, else as liboriel.so]
    ORIEL_BIN       the command line tool  [default: beside what ORIEL_PLUGIN names, else as liboriel.so]
    ORIEL_LLVM_BIN  folder of llc, clang, FileCheck, split-file and not
                                           [default: llvm-config-22 --bindir]
    LLVM_PTXAS_EXECUTABLE  ptxas           [default: PATH, else the Python package nvidia-cuda-nvcc]

Substitutions:
    %llc        llc for NVPTX with the plug-in
    %lab-llc    the same llc with the laboratory's plug-in, for what only tests need
    %llc-plain  the same llc without it
    %llc-bare   llc with neither plug-in nor target
    %edit       %lab-llc, its result checked by Oriel and by LLVM's verifier
    %edited NAME   applies %t/NAME.edit to %t/kernel.ll; the PTX has to pass FileCheck with the prefix NAME
                and, where there is one, ptxas
    %edited-mir NAME PASS   the same with the machine IR after PASS instead of the PTX
    %refused NAME  applies %t/NAME.edit to %t/kernel.ll; the PTX has to be that of %llc-plain, and the only
                diagnostic the one that FileCheck finds with the prefix NAME
    %clang-cl, %clang-cuda   clang on OpenCL C and CUDA with the plug-in, to PTX in -o
    %oriel      the command line tool
    %plugin     liboriel.so
    %laboratory  liboriel_laboratory.so
    %ptxas-path ptxas itself (feature ptxas)
    %ptxas      ptxas for the same SM, its output thrown away (feature ptxas)
    %other-llc  an llc of another version (feature other-llvm)
    %python     the Python that runs lit
    %examples   the folder examples/
    %chromium   a browser that runs without a screen (feature chromium)
    %schema     the schema of the report's lines (to validate: feature jsonschema, the Python package)
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import lit.formats
import lit.util

sys.path.append(str(Path(__file__).resolve().parent.parent / "scripts"))

import common  # noqa: E402: the path is needed first
import examples  # noqa: E402
from ptxas import executable as find_ptxas  # noqa: E402

config.name = "Oriel"
config.test_format = lit.formats.ShTest(execute_external=False)
config.excludes = ["Inputs"]
config.suffixes = [".ll", ".mir", ".test", ".cl", ".cu", ".ori", ".rs"]
config.test_source_root = str(common.ROOT / "lit-tests")
config.test_exec_root = str(common.ROOT / "target" / "lit-tests")


def require(path, variable):
    """The file, if there is one; else lit stops and says which variable names it."""
    if not path.exists():
        lit_config.fatal(f"{path} was not found; set {variable}")
    # Tests run in other folders.
    return str(path.absolute())


def llc_version(program):
    """The version that `program --version` prints, or None."""
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"LLVM version (\d+\.\d+\.\d+)", printed)
    return match and match.group(1)


def llvm_of_rustc(program):
    """The major version of LLVM in a rustc, or None."""
    printed = subprocess.run([program, "-vV"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"LLVM version: (\d+)", printed)
    return match and match.group(1)


llc = require(common.llvm_bin() / "llc", "ORIEL_LLVM_BIN")
clang = require(common.llvm_bin() / "clang", "ORIEL_LLVM_BIN")
plugin = require(common.plugin(), "ORIEL_PLUGIN")
laboratory = require(common.laboratory(), "ORIEL_LABORATORY")
oriel = require(common.tool(), "ORIEL_BIN")
ptxas = find_ptxas()

other_llc = None
for folder in os.environ.get("PATH", "").split(os.pathsep):
    candidate = os.path.join(folder, "llc")
    if os.access(candidate, os.X_OK) and llc_version(candidate) not in (None, llc_version(llc)):
        other_llc = candidate
        break

# What the tests see must not depend on who runs them.
config.environment["PATH"] = os.pathsep.join((str(common.llvm_bin()), os.environ.get("PATH", "")))
config.environment.pop("ORIEL_FLAGS", None)

nvptx = "-mtriple=nvptx64-nvidia-cuda -mcpu=sm_80"
checked = f"-load={laboratory} -oriel-verify -verify-machineinstrs"
gpu_source = f"-fpass-plugin={plugin} -S -O2 -I {common.ROOT}/examples/include"
opencl, cuda = (" ".join(examples.device_flags(suffix, "80")) for suffix in (".cl", ".cu"))
apply_edit = f"{sys.executable} {common.ROOT}/lit-tests/apply_edit.py"
config.environment["ORIEL_TEST_LLC"] = f"{llc} {nvptx}"
config.environment["ORIEL_TEST_PLUGIN"] = checked
assemble = f"{sys.executable} {common.ROOT}/lit-tests/assemble.py {ptxas}"
config.environment["ORIEL_TEST_PTXAS"] = assemble if ptxas else ""
config.substitutions += [
    ("%edited-mir", f"{apply_edit} accepted %s %t"),
    ("%edited", f"{apply_edit} accepted %s %t"),
    ("%edit", f"{llc} {nvptx} {checked}"),
    ("%refused", f"{apply_edit} refused %s %t"),
    ("%llc-plain", f"{llc} {nvptx}"),
    ("%llc-bare", llc),
    ("%llc", f"{llc} {nvptx} -load={plugin}"),
    ("%lab-llc", f"{llc} {nvptx} -load={laboratory}"),
    ("%clang-cl", f"{clang} {opencl} {gpu_source}"),
    ("%clang-cuda", f"{clang} {cuda} {gpu_source}"),
    ("%clang", clang),
    ("%oriel", oriel),
    ("%python", sys.executable),
    ("%plugin", plugin),
    ("%laboratory", laboratory),
    ("%examples", str(common.ROOT / "examples")),
    ("%schema", str(common.ROOT / "docs" / "report.schema.json")),
]
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas-path", ptxas))
    config.substitutions.append(("%ptxas", assemble))
if importlib.util.find_spec("jsonschema"):
    config.available_features.add("jsonschema")
browsers = [path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))]
if browsers:
    config.available_features.add("chromium")
    config.substitutions.append(("%chromium", browsers[0]))
# rustup's proxy needs more of the environment than tests have; another LLVM's bitcode may be too new.
sysroot = shutil.which("rustc") and subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=False).stdout.strip()
rustc = os.path.join(sysroot, "bin", "rustc") if sysroot else None
if rustc and llvm_of_rustc(rustc) == llc_version(llc).split(".")[0]:
    config.available_features.add("rustc")
    config.substitutions.append(("%rustc", rustc))
if shutil.which("dot"):
    config.available_features.add("graphviz")
if other_llc:
    config.available_features.add("other-llvm")
    config.substitutions.append(("%other-llc", other_llc))
