#!/usr/bin/env python3
"""Compiles modules in eight threads of one process with ThreadSanitizer in the library and the shim.

    scripts/check_threads.py [MODULES]    200 modules if no number is given

The test is crates/laboratory/tests/parallel_compilation.rs, which `make unit` runs without the sanitizer. LLVM itself is not instrumented: what
happens within it is not judged. Needs Rust's nightly toolchain with its sources, and clang for a shim with the runtime that rustc
brings; without them the check is left out, with a message.
"""

import os
import shutil
import subprocess
import sys

import common

TARGET = "x86_64-unknown-linux-gnu"
# Calls from LLVM into instrumented functions of the C library are not followed: its own locks are invisible.
SUPPRESSIONS = "called_from_lib:libLLVM\n"


def missing():
    """What the check needs and this machine has not, or an empty text."""
    components = subprocess.run(["rustup", "component", "list", "--toolchain", "nightly", "--installed"], check=False,
                                capture_output=True, text=True) if shutil.which("rustup") else None
    if components is None or components.returncode != 0:
        return "Rust's nightly toolchain (rustup toolchain install nightly)"
    if "rust-src" not in components.stdout:
        return "the nightly toolchain's sources (rustup component add rust-src --toolchain nightly)"
    return ""


def main():
    modules = sys.argv[1] if len(sys.argv) > 1 else "200"
    if reason := missing():
        print(f"threads: left out without {reason}")
        return 0
    folder = common.target_dir() / "threads"
    folder.mkdir(parents=True, exist_ok=True)
    suppressions = folder / "suppressions.txt"
    suppressions.write_text(SUPPRESSIONS)
    clang = common.llvm_bin() / "clang++"
    environment = {
        **os.environ,
        "ORIEL_SANITIZE": "thread",
        "ORIEL_PARALLEL_MODULES": modules,
        f"CXX_{TARGET.replace('-', '_')}": str(clang),
        "RUSTFLAGS": "-Zsanitizer=thread",
        # Unoptimised code takes too long to run, and optimised code too long to build.
        "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
        "TSAN_OPTIONS": f"halt_on_error=1:exitcode=99:suppressions={suppressions}",
    }
    command = ["cargo", "+nightly", "test", "-Zbuild-std", "--target", TARGET, "--target-dir", folder,
               "-p", "oriel-laboratory", "--test", "parallel_compilation", "--", "--nocapture"]
    return subprocess.run(command, cwd=common.ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
