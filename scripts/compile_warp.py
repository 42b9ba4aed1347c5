#!/usr/bin/env python3
"""Compiles the kernels of NVIDIA Warp's modules to LLVM bitcode, for judge.py and measure_registers.py.

    scripts/compile_warp.py [--seconds 60] --cuda-path CUDA --output FOLDER [MODULE ...]

Run it with the Python of an environment that has warp-lang; no GPU is needed. Without a MODULE, which is the name of a Python module, it takes
Warp's own tests and examples. Modules that cannot be imported or compiled are named on standard error and left out.

Warp writes CUDA C++ for each of its modules, the kernels that a Python module defines together with their derivatives. clang compiles that to
FOLDER/MODULE.bc, for sm_80. Code that needs NVIDIA's cuBLASDx or cuFFTDx is left out, and so is what only NVRTC accepts, most of Warp's tiles.
"""

import argparse
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import common

SM = 80
# Warp's substitute for the C library, which NVRTC lacks and clang does not.
NO_LIBRARY = "#define WP_NO_CRT\n"


def own_modules(package):
    """The names of Warp's tests and examples."""
    files = [*package.glob("tests/**/test_*.py"), *package.glob("examples/*/example_*.py")]
    return sorted(".".join(file.relative_to(package.parent).with_suffix("").parts) for file in files)


def sources(names):
    """The CUDA C++ of all Warp modules that importing these Python modules defines, by name."""
    import warp
    from warp._src import context

    warp.config.quiet = True
    warp.init()
    done = set()
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        for key, module in list(context.user_modules.items()):
            if key in done:
                continue
            done.add(key)
            try:
                options = module.resolve_options(warp.config, block_dim=module.options["block_dim"]) | {"output_arch": SM}
                builder = context.ModuleBuilder(module, options, target="cuda")
                if builder.kernels:
                    yield key, builder.codegen("cuda").replace(NO_LIBRARY, "")
            except BaseException as error:
                print(f"{key}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--cuda-path", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=60)
    arguments = parser.parse_args()
    # Unlike an import, this doesn't print.
    package = Path(importlib.util.find_spec("warp").origin).parent
    arguments.output.mkdir(parents=True, exist_ok=True)
    command = [common.llvm_bin() / "clang++", "-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch=sm_{SM}", f"--cuda-path={arguments.cuda_path}"]
    command += ["-std=c++17", "-w", "-D__NV_NO_HOST_COMPILER_CHECK=1", f"-I{arguments.cuda_path / 'include'}", f"-I{package / 'native'}"]
    command += ["-O2", "-emit-llvm", "-c", "-", "-o"]
    for name, text in sources(arguments.modules or own_modules(package)):
        module = arguments.output / f"{name}.bc"
        try:
            subprocess.run([*command, module], input=text.encode(), check=True, capture_output=True, timeout=arguments.seconds)
        except subprocess.CalledProcessError as error:
            reason = next((line for line in error.stderr.decode().splitlines() if "error:" in line), "clang failed")
            print(f"{name}: {reason}", file=sys.stderr)
        except subprocess.TimeoutExpired:
            module.unlink(missing_ok=True)
            print(f"{name}: not within --seconds", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
