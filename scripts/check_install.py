#!/usr/bin/env python3
"""Installs what `make dist` built, builds the C and C++ hosts of examples/ against it and compares what they print with llc's
and the tool's; moves the tree; looks at messages where LLVM is missing, at the Debian package, and at what uninstalling
leaves.

    scripts/check_install.py
"""

import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import common
import examples

ROOT = common.ROOT
KERNEL = ROOT / "examples/embed-cpp/kernel.ll"
# A call with values on the stack, shared memory and barriers, OpenCL, launch bounds.
SOURCES = [
    f"examples/{name}"
    for name in ("language/device_calls.cu", "linear-algebra/sgemm_tiled.cu", "crypto/chacha20.cl", "language/register_bounds.cu")
]
INSTALLED = {
    "bin/oriel", "include/oriel.h", "lib/liboriel.so", "lib/oriel/oriel", "lib/pkgconfig/oriel.pc",
    "lib/cmake/Oriel/OrielConfig.cmake", "lib/cmake/Oriel/OrielConfigVersion.cmake", "share/doc/oriel/copyright",
    "share/doc/oriel/docs/options.md", "share/doc/oriel/examples/embed-c/main.c",
    "share/doc/oriel/examples/embed-cpp/main.cpp",
}


class Difference(Exception):
    """Something is not as it should be."""


def expect(condition, problem):
    if not condition:
        raise Difference(problem)


def expect_same(got, wanted, what):
    if got != wanted:
        lines = difflib.unified_diff(wanted.splitlines(), got.splitlines(), "wanted", "got", lineterm="", n=1)
        raise Difference(f"{what}:\n" + "\n".join(list(lines)[:20]))


def run(*command, status=0, **options):
    """Runs a command that has to end with a status."""
    environment = {**os.environ, **options.pop("env", {})}
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=environment,
                            **options)
    if result.returncode != status:
        shown = " ".join(str(word) for word in command)
        raise Difference(f"exit status {result.returncode}, not {status}: {shown}\n{result.stdout}{result.stderr}")
    return result


def install(prefix, *arguments, **environment):
    """`make install` or, with --uninstall, `make uninstall`, of what is built."""
    return run("scripts/install.sh", *arguments, cwd=ROOT, env={"DESTDIR": "", "PREFIX": str(prefix), **environment})


def files_below(folder):
    """All files and links below a folder, relative to it."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()}


def untimed(report):
    """The objects of a report without the times that phases took."""
    objects = [json.loads(line) for line in report.splitlines()]
    return [{key: value for key, value in line.items() if not key.endswith("_ns")} for line in objects]


class Installation:
    """An installed tree, and the hosts that were built against it."""

    def __init__(self, prefix, work):
        self.prefix, self.work = prefix, work

    @property
    def plugin(self):
        return self.prefix / "lib/liboriel.so"

    @property
    def tool(self):
        return self.prefix / "bin/oriel"

    @property
    def environment(self):
        return {"PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig"),
                "LLVM_CONFIG": str(common.llvm_bin() / "llvm-config")}

    def copy_example(self, name, to):
        """A copy of the installed sources of a host, for building in."""
        folder = self.work / to
        shutil.copytree(self.prefix / "share/doc/oriel/examples" / name, folder)
        return folder

    def build_with_make(self, name, to):
        """A host, built with pkg-config."""
        folder = self.copy_example(name, to)
        flags = ["CFLAGS=-std=c99 -pedantic -Wall -Wextra -Werror", "CXXFLAGS=-O0 -Wall -Wextra -Werror"]
        run("make", "-j2", *flags, cwd=folder, env=self.environment)
        return folder / name

    def build_with_cmake(self, folder, *arguments):
        """Builds the project in a folder with CMake."""
        run("cmake", "-B", "build", "-S", ".", f"-DCMAKE_PREFIX_PATH={self.prefix}", *arguments, cwd=folder)
        run("cmake", "--build", "build", "-j2", cwd=folder)
        return folder / "build"


def llc(installation, module, sm, flags="", report=None):
    """The PTX that llc makes of a module with the installed plug-in."""
    flags += f" -oriel-report={report}" if report else ""
    command = examples.llc_command(module, "-", sm)
    return run(*command, f"--load-pass-plugin={installation.plugin}", env={"ORIEL_FLAGS": flags}).stdout


def bitcode(source, folder):
    module = folder / f"{Path(source).stem}.bc"
    if not module.exists():
        common.run(examples.clang_command(source, module))
    return module


def check_cpp_host(installation, host):
    """The host gives llc's PTX and report, its own pass comes behind Oriel's, and wrong input is an error."""
    report, wanted_report = installation.work / "host.json", installation.work / "llc.json"
    for module in [KERNEL, *(bitcode(source, installation.work) for source in SOURCES)]:
        for flags in ("", "-oriel-least-pressure=0", "-oriel-profile=ptxas", "-oriel=off"):
            wanted_report.unlink(missing_ok=True)
            wanted = llc(installation, module, "80", flags, wanted_report)
            got = run(host, module, f"-mattr={examples.PTX_FEATURE}", f"-report={report}", f"-flags={flags}")
            expect_same(got.stdout, wanted, f"PTX of {module.name} with '{flags}'")
            written = wanted_report.read_text() if wanted_report.exists() else ""
            expect(untimed(report.read_text()) == untimed(written), f"report of {module.name} with '{flags}'")
            expect((flags == "-oriel=off") == (written == ""), f"llc's report of {module.name} with '{flags}'")
            expect("Oriel" in got.stderr, f"the host's pass did not run on {module.name}")
    loads = {flags: int(run(host, KERNEL, "-o", "/dev/null", f"-flags={flags}").stderr.split(" of them ")[1].split()[0])
             for flags in ("-oriel-profile=ptxas", "-oriel=off")}
    expect(loads["-oriel-profile=ptxas"] < loads["-oriel=off"], f"the host's pass sees {loads} loads: it does not come behind Oriel")
    refused = installation.work / "refused.ll"
    refused.write_text("""target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @refused(ptr addrspace(1) %p) {
  %x = call i32 asm "mov.u32 $0, 1;", "=Z"()
  store i32 %x, ptr addrspace(1) %p
  ret void
}
""")
    for arguments, problem in [
        ([KERNEL, "-flags=-oriel-no-such-option"], "oriel-no-such-option"),
        ([refused], "constraint 'Z'"),
        ([KERNEL, "-O7"], "-O takes 0 to 3"),
        ([installation.work / "missing.ll"], "missing.ll"),
        ([ROOT / "README.md"], "expected"),
    ]:
        printed = run(host, *arguments, "-o", "/dev/null", status=1).stderr
        expect(problem in printed, f"wanted '{problem}', got: {printed}")
    printed = run(host, KERNEL, "-o", "/dev/null", status=1, env={"ORIEL_FLAGS": "-oriel=sometimes"}).stderr
    expect("sometimes" in printed, f"a wrong ORIEL_FLAGS: {printed}")


def snapshots(installation):
    """Snapshot files of the examples' functions at both stages."""
    folder = installation.work / "snapshots"
    if not folder.exists():
        folder.mkdir()
        for source in SOURCES:
            run(installation.tool, "compile", "--sm=80", "--ptx=86", bitcode(source, installation.work), "-o", "/dev/null",
                "--oriel", f"-oriel-snapshot={folder}")
    files = sorted(folder.iterdir())
    expect(len(files) >= 2 * len(SOURCES), f"{len(files)} snapshots")
    return files


def check_c_host(installation, host):
    """The host prints the tool's intervals and functions, and wrong input is an error."""
    tool = installation.tool
    for path in snapshots(installation):
        wanted = run(tool, "live", path).stdout.split("**********\n", 1)[1]
        expect_same(run(host, "--intervals", path).stdout, wanted, f"intervals of {path.name}")
        stage = "ssa" if ".ssa" in path.name else "late"
        phase = "GvnCse" if stage == "ssa" else "OriCopyPropLate"
        wanted = run(tool, "ori", f"--phases={phase}", path).stdout
        got = run(host, "--ori", "--flags", f"-oriel-phases={phase}", path).stdout
        expect_same(got, wanted, f"{path.name} behind {phase}")
        json.loads(run(host, "--effects", path).stdout)
    printed = run(host, *snapshots(installation)).stdout
    expect(printed.count("live intervals") == len(snapshots(installation)), printed)
    late = next(path for path in snapshots(installation) if ".late" in path.name)
    figures = json.loads(run(tool, "report", "--json", late).stdout.splitlines()[0])
    expect(f"registers estimated      {figures['registers_estimate']}\n" in run(host, late).stdout, "the estimate differs")

    expect_same(run(host, "--own-function").stdout, OWN_FUNCTION, "liveness of the host's own function")

    damaged = installation.work / "damaged.oriel"
    damaged.write_bytes(late.read_bytes()[:200])
    for arguments, problem in [
        ([damaged], "damaged.oriel: "),
        ([installation.work / "missing.oriel"], "missing.oriel: "),
        (["--flags", "-oriel-phases=NoSuchPhase", late], "NoSuchPhase"),
        ([], "usage: "),
    ]:
        printed = run(host, *arguments, status=1)
        expect(problem in printed.stderr and not printed.stdout, f"wanted '{problem}', got: {printed.stderr}")


OWN_FUNCTION = """\
%0: defined at 18, live out of block 0 block 1; interferes with %1 %2 %3
%1: defined at 50, live out of; interferes with %0
%2: defined at 66, live out of block 1; interferes with %0 %3
%3: defined at 82, live out of; interferes with %0 %2
from 18 on, in block 0: 1 units
from 50 on, in block 1: 2 units
from 112 on, in block 2: 1 units
from 130 on, in block 2: 0 units
"""


def check_pass(installation, plugin):
    """Somebody else's machine pass gets the same answers from Oriel as from LLVM's LiveIntervals, on every example."""

    def asked(module, provider):
        command = examples.llc_command(module, "/dev/null", "80")
        return run(*command, f"-load={plugin}", f"-live-registers-by={provider}").stderr

    def check(source):
        module = bitcode(source, installation.work)
        by_oriel, by_llvm = asked(module, "oriel"), asked(module, "llvm")
        expect(by_oriel.count(" live;") > 10, f"the pass did not run on {source}")
        expect_same(by_oriel, by_llvm, f"what is live in {source}")

    common.parallel("liveness", check, examples.examples())


def check_cmake_functions(installation):
    """oriel_add_to_target() makes clang load the plug-in; find_package() says it if LLVM is missing."""
    clang = common.llvm_bin() / "clang++"
    project = installation.work / "cuda"
    project.mkdir()
    source = ROOT / "examples/linear-algebra/saxpy.cu"
    (project / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.18)
project(kernels LANGUAGES CXX)
find_package(Oriel REQUIRED)
add_library(kernels OBJECT "{source}")
set_source_files_properties("{source}" PROPERTIES LANGUAGE CXX)
target_include_directories(kernels PRIVATE "{ROOT}/examples/include")
target_compile_options(kernels PRIVATE -x cuda --cuda-device-only --cuda-gpu-arch=sm_80
  --cuda-feature={examples.PTX_FEATURE} -nocudainc -nocudalib -O2 -S)
oriel_add_to_target(kernels)
""")
    report = installation.work / "clang.json"
    run("cmake", "-B", "build", "-S", ".", f"-DCMAKE_PREFIX_PATH={installation.prefix}", f"-DCMAKE_CXX_COMPILER={clang}",
        cwd=project)
    run("cmake", "--build", "build", cwd=project, env={"ORIEL_FLAGS": f"-oriel-report={report}"})
    functions = {line["function"] for line in untimed(report.read_text())}
    expect(functions == {"saxpy", "saxpy_grid_stride"}, f"clang's report has {functions}")

    configure = ["cmake", "-S", ".", f"-DCMAKE_PREFIX_PATH={installation.prefix}"]
    printed = run(*configure, "-B", "gcc", "-DCMAKE_CXX_COMPILER=g++", cwd=project, status=1).stderr
    expect("Oriel works in clang 22" in " ".join(printed.split()), f"another compiler: {printed}")
    empty = installation.work / "empty"
    empty.mkdir()
    printed = run(*configure, "-B", "missing", f"-DCMAKE_CXX_COMPILER={clang}", f"-DCMAKE_FIND_ROOT_PATH={empty}",
                  "-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY", cwd=project, status=1).stderr
    expect("needs LLVM 22" in " ".join(printed.split()), f"find_package without LLVM: {printed}")


def check_moved(installation, hosts):
    """The tree works from another folder: the tool, the plug-in, old hosts, and a host built anew."""
    wanted = llc(installation, KERNEL, "80")
    moved = installation.work / "moved" / "tree"
    moved.parent.mkdir()
    installation.prefix.rename(moved)
    installation.prefix = moved
    expect_same(llc(installation, KERNEL, "80"), wanted, "PTX of the moved plug-in")
    link = installation.work / "oriel-link"
    link.symlink_to(installation.tool)
    for tool in (installation.tool, link):
        expect_same(run(tool, "compile", "--sm=80", "--ptx=86", KERNEL).stdout, wanted, f"PTX of {tool.name}")
    for host in hosts:
        arguments = [KERNEL] if host.name == "embed-cpp" else ["--intervals", snapshots(installation)[0]]
        run(host, *arguments, env={"LD_LIBRARY_PATH": str(moved / "lib")})
    check_c_host(installation, installation.build_with_make("embed-c", "c-moved"))


def check_uninstall(prefix):
    """Removing Oriel leaves what is somebody else's, and nothing more."""
    foreign = prefix / "lib/pkgconfig/other.pc"
    foreign.write_text("Name: other\n")
    install(prefix, "--uninstall")
    expect(files_below(prefix) == {"lib/pkgconfig/other.pc"}, f"left: {files_below(prefix)}")
    install(prefix)
    first = files_below(prefix)
    install(prefix)
    expect(files_below(prefix) == first, "installing twice is not installing once")
    foreign.unlink()
    install(prefix, "--uninstall")
    # Folders that others had made stay.
    expect({str(path.relative_to(prefix)) for path in prefix.rglob("*")} == {"lib", "lib/pkgconfig"},
           f"left: {sorted(prefix.rglob('*'))}")
    expect("there is no Oriel in" in run("scripts/install.sh", "--uninstall", cwd=ROOT, status=1,
                                         env={"DESTDIR": "", "PREFIX": str(prefix)}).stderr, "uninstalled twice")


def check_files(prefix):
    """All of the product is installed, and nothing that only tests need."""
    files = files_below(prefix)
    expect(INSTALLED <= files, "files are missing")
    expect(not any("liboriel_laboratory" in file for file in files), "the laboratory's plug-in is installed")


def check_destdir(work):
    """DESTDIR stands in front of PREFIX, and a tree that was not there is gone afterwards."""
    stage = work / "stage"
    install("/opt/oriel", DESTDIR=str(stage))
    expect(INSTALLED <= files_below(stage / "opt/oriel"), "DESTDIR")
    install("/opt/oriel", "--uninstall", DESTDIR=str(stage))
    expect(not (stage / "opt/oriel").exists(), "uninstalling leaves PREFIX")


def fake_llvm(folder, version="22.1.8", headers=True):
    """An LLVM whose llvm-config says what it is told to; it has no shared library."""
    (folder / "include/llvm/CodeGen").mkdir(parents=True)
    if headers:
        (folder / "include/llvm/CodeGen/MachineFunction.h").touch()
    config = folder / "bin/llvm-config"
    config.parent.mkdir()
    config.write_text(f"""#!/bin/sh
case $1 in
  --version) echo {version} ;;
  --includedir) echo {folder}/include ;;
  --libdir) echo {folder}/lib ;;
esac
""")
    config.chmod(0o755)
    return folder


def check_build_messages(work):
    """What the build says where there is no LLVM that it can use."""
    # The plug-in's own: a name with nothing but cargo's hash after it.
    hash_digits = "[0-9a-f]" * 16
    scripts = (common.target_dir() / "dist/build").glob(f"oriel-{hash_digits}/build-script-build")
    script = max(scripts, key=lambda path: path.stat().st_mtime)
    variable = "LLVM_SYS_221_PREFIX"
    cases = {
        "no llvm-config was found": {"PATH": str(work / "nowhere")},
        f"no bin/llvm-config in {variable}={work}/nowhere": {variable: str(work / "nowhere")},
        "is version 21.1.0": {variable: str(fake_llvm(work / "llvm-21", version="21.1.0"))},
        "has no headers": {variable: str(fake_llvm(work / "llvm-bare", headers=False))},
        "libLLVM-22.so, the shared library": {variable: str(fake_llvm(work / "llvm-static"))},
    }
    for problem, environment in cases.items():
        environment = {"CARGO_FEATURE_LLVM": "1", "OUT_DIR": str(work), **environment}
        printed = run(script, cwd=ROOT, status=1, env=environment).stderr
        for text in (problem, "Oriel needs LLVM 22 with its headers", "apt-get install llvm-22-dev"):
            expect(text in printed, f"wanted '{text}', got: {printed}")


def check_tool_message(installation):
    """What the installed tool says where its LLVM is gone: in a process of its own, an empty file hides it."""
    libllvm = next(line.split() for line in run("ldd", installation.plugin).stdout.splitlines() if "libLLVM" in line)
    hide = f'mount --bind /dev/null "$(readlink -f {libllvm[2]})" && exec {installation.tool} phases'
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode != 0:
        print("install: this machine does not let a file be hidden from a process; one message is not tested")
        return
    printed = run("unshare", "-rm", "sh", "-c", hide, status=127).stderr
    expect(printed.startswith("oriel: Oriel needs LLVM 22.") and "apt-get install libllvm22" in printed, printed)
    expect(printed.count("\n") == 1, printed)


def check_package(work):
    """The Debian package has the tree, asks for the right LLVM, and works wherever it is unpacked."""
    if not shutil.which("dpkg-deb"):
        print("install: there is no dpkg-deb; the package is not tested")
        return
    package = ROOT / run("scripts/make_deb.sh", cwd=ROOT).stdout.strip()
    control = run("dpkg-deb", "--field", package).stdout
    version = run(common.llvm_bin() / "llvm-config", "--version").stdout.strip()
    for text in ("Package: oriel\n", f"libllvm22 (>= 1:{version}~), libllvm22 (<< 1:22.", "libc6 (>= ",
                 "Suggests: clang-22"):
        expect(text in control, f"wanted '{text}' in:\n{control}")
    listed = run("dpkg-deb", "--contents", package).stdout.splitlines()
    owners = {line.split()[1] for line in listed}
    expect(owners == {"root/root"}, f"files of {owners}")
    root = work / "package"
    run("dpkg-deb", "--extract", package, root)
    files = files_below(root / "usr")
    expect(INSTALLED <= files and "lib/oriel/manifest" not in files, f"the package has {sorted(files)}")
    for name in files:
        path = root / "usr" / name
        if path.suffix in (".pc", ".cmake", ".h") or name == "bin/oriel":
            text = path.read_text()
            expect(str(ROOT) not in text and "/tmp/" not in text, f"{name} names a folder of this machine")
    unpacked = Installation(root / "usr", work / "of-package")
    check_c_host(unpacked, unpacked.build_with_make("embed-c", "c"))


def check_hosts(installation):
    """Hosts built with pkg-config and with CMake; the programs."""
    cpp = installation.build_with_make("embed-cpp", "cpp-make")
    check_cpp_host(installation, cpp)
    c = installation.build_with_make("embed-c", "c-make")
    check_c_host(installation, c)
    check_pass(installation, installation.build_with_make("embed-pass", "pass-make"))
    hosts = [cpp, c]
    if not shutil.which("cmake"):
        print("install: there is no cmake; the builds with it are left out")
        return hosts
    built = installation.build_with_cmake(installation.copy_example("embed-c", "c-cmake"))
    check_c_host(installation, built / "embed-c")
    built = installation.build_with_cmake(installation.copy_example("embed-cpp", "cpp-cmake"))
    check_cpp_host(installation, built / "embed-cpp")
    installation.build_with_cmake(installation.copy_example("embed-pass", "pass-cmake"))
    check_cmake_functions(installation)
    return hosts


def main():
    passed, failed = 0, 0

    def step(name, work, *arguments):
        nonlocal passed, failed
        start = time.monotonic()
        try:
            result = work(*arguments)
            passed += 1
            print(f"{name}: {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
            return result
        except (Difference, RuntimeError, OSError, ValueError) as problem:
            failed += 1
            print(f"FAIL {name}: {problem}")
            return None

    with tempfile.TemporaryDirectory() as name:
        # Not a name that is in the build by chance.
        work = Path(name).resolve()
        installation = Installation(work / "prefix", work)
        step("install", install, installation.prefix)
        step("installed files", check_files, installation.prefix)
        hosts = step("hosts", check_hosts, installation) or []
        step("the tool without LLVM", check_tool_message, installation)
        step("moved tree", check_moved, installation, hosts)
        step("uninstall", check_uninstall, installation.prefix)
        step("DESTDIR", check_destdir, work)
        step("build without LLVM", check_build_messages, work)
        step("package", check_package, work)
    print(f"install: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
