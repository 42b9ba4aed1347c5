"""What the scripts share: where things are, running commands in parallel with progress, reading PTX."""

import concurrent.futures
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@functools.cache
def llvm_bin():
    """The folder that clang and llc are run from."""
    if folder := os.environ.get("ORIEL_LLVM_BIN"):
        if not (Path(folder) / "clang").exists():
            sys.exit(f"{Path(sys.argv[0]).name}: ORIEL_LLVM_BIN is {folder}, where there is no clang")
        return Path(folder)
    for config in ("llvm-config-22", "llvm-config"):
        if shutil.which(config):
            output = subprocess.run([config, "--bindir"], check=True, capture_output=True, text=True)
            return Path(output.stdout.strip())
    sys.exit(f"{Path(sys.argv[0]).name}: set ORIEL_LLVM_BIN to the folder of clang and llc: there is no llvm-config in PATH")


def target_dir():
    """The folder that cargo builds into."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def built(name, variable):
    """A file of the build to test: what the environment variable names, else the one beside the plug-in that ORIEL_PLUGIN names, else
    the release build's, else the debug build's."""
    if named := os.environ.get(variable):
        return Path(named)
    beside = [Path(plugin).parent] if (plugin := os.environ.get("ORIEL_PLUGIN")) else []
    for folder in (*beside, target_dir() / "release", target_dir() / "debug"):
        if (folder / name).exists():
            return folder / name
    sys.exit(f"{Path(sys.argv[0]).name}: {name} is not built yet; run `cargo build --release`")


def plugin():
    """The plug-in to test."""
    return built("liboriel.so", "ORIEL_PLUGIN")


def laboratory():
    """The plug-in with the laboratory: what only tests need."""
    return built("liboriel_laboratory.so", "ORIEL_LABORATORY")


def tool():
    """The command line tool to test."""
    return built("oriel", "ORIEL_BIN")


def run(command, **options):
    """Runs a command in the root of the repository; its output, or RuntimeError with what it printed."""
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise failure(command, result.returncode, result.stdout + result.stderr)
    return result


def spent(command):
    """Runs a command in the root of the repository; its CPU seconds, and its peak of resident memory in bytes."""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise failure(command, process.returncode, errors)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def failure(command, status, printed):
    """The error of a command that failed."""
    shown = " ".join(str(word) for word in command)
    return RuntimeError(f"exit status {status}: {shown}\n{printed}")


class Progress:
    """A line on standard error that says how far a long step is; on a terminal it is rewritten in place."""

    def __init__(self, title, total):
        self.title, self.total, self.done = title, total, 0
        self.on_terminal = sys.stderr.isatty()
        self.shown_at = 0.0
        self.start = time.monotonic()

    def step(self):
        self.done += 1
        now = time.monotonic()
        if self.done == self.total or now - self.shown_at >= (0.2 if self.on_terminal else 15):
            self.shown_at = now
            text = f"{self.title}: {self.done} of {self.total}, {now - self.start:.0f} s"
            end = "\n" if self.done == self.total or not self.on_terminal else ""
            print(f"\r{text}" if self.on_terminal else text, end=end, file=sys.stderr, flush=True)


def parallel(title, work, items):
    """`work` of each of `items`, in order, computed on all cores with progress shown."""
    items = list(items)
    progress = Progress(title, len(items))

    def one(item):
        result = work(item)
        progress.step()
        return result

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, items))


FUNCTION_START = re.compile(r"^(?:\.visible |\.weak |\.extern )*\.(entry|func)\s*(?:\([^)]*\)\s*)?([\w$.]+)")


def ptx_functions(ptx):
    """The lines of each function that the PTX text defines, without comments."""
    found, name, lines, in_assembly = {}, None, None, False
    for line in ptx.splitlines():
        code = line.split("//")[0].strip()
        if "inline asm" in line:
            in_assembly = "// begin inline asm" in line
        if match := FUNCTION_START.match(line):
            name = match.group(2)
        elif line.startswith(".visible .func") or line.startswith(".func") or line.startswith(".weak .func"):
            name = None
        elif name is None and lines is None and re.match(r"^[\w$.]+\($|^[\w$.]+$", code):
            # A function with a result: its name is on a line of its own.
            name = code.rstrip("(")
        # Inline assembly may have blocks of its own.
        if line.startswith("{") and not in_assembly:
            lines = found[name] = []
        elif line.startswith("}") and not in_assembly:
            lines, name = None, None
        elif lines is not None:
            lines.append(code)
    return found


def ptx_instructions(lines):
    """The lines of a function that are instructions."""
    return [line for line in lines if line.endswith(";") and not line.startswith((".", "{", "}"))]


def count_ptx_instructions(ptx):
    """Number of instructions of each function that the PTX text defines."""
    return {name: len(ptx_instructions(lines)) for name, lines in ptx_functions(ptx).items()}


def share(items, number, every):
    """Only one of `every` items: another choice for the next number, so that as many neighbours together have all items."""
    return items[number % every :: every]


def in_process(work, seconds):
    """Does the work in a process of its own, with all that it starts. Returns whether it ended in time; if not, it is killed."""
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        try:
            work()
        finally:
            os._exit(0)
    end = time.monotonic() + seconds
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(0.02)
    return True
