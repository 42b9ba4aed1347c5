#!/usr/bin/env python3
"""Compiles the kernels that Python programs or tests launch with Triton, as they launch them, without a GPU.

    scripts/launch_triton.py [--sm 80] [--most-forms 2] [--most-cases 6] [--seconds 20] --output FOLDER FILE.py ...

Run it with the Python of an environment that has Triton, torch and pytest; with `python -O`, assertions about results do not end a test.
A file in which pytest finds tests is given to it, any other is executed. torch is told that there is a GPU, and what is asked to be there
is kept in the memory of the CPU. A launch is recorded and not executed, so that programs compute with what their outputs held before and
tests may fail. Unlike those of compile_triton.py, types, constants and options are those that the project uses, and of an
autotuned kernel the first --most-forms of its configurations.

The IR is in FOLDER/FILE.KERNEL.NUMBER.SM.ll as compile_triton.py writes it, for at most --most-forms different launches of a kernel, all
files taken together. Of a parametrised test, --most-cases cases are run, evenly spread, each for at most so many seconds.
"""

import argparse
import contextlib
import re
import runpy
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

from compile_triton import gpu_target, with_old_constants, with_triple
from pretended_gpu import OF_DRIVER, pretend_gpu
from stand_ins import MissingModules


class ProjectsMissingModules(MissingModules):
    """Finds missing modules for the code of projects only: installed packages know how to do without."""

    def find_spec(self, name, path=None, target=None):
        frame = sys._getframe(1)
        while "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        installed = Path(contextlib.__file__).parent, Path(sys.prefix)
        return None if any(folder in Path(frame.f_code.co_filename).parents for folder in installed) else super().find_spec(name, path, target)


class Launched:
    """Stands for a compiled kernel that programs launch again or ask about."""

    n_regs = n_spills = n_max_threads = 0
    asm = {}
    metadata = SimpleNamespace(shared=0, num_warps=4, num_ctas=1, num_stages=1, name="")

    def __getitem__(self, grid):
        return lambda *arguments, **options: None

    def __getattr__(self, name):
        return lambda *arguments, **options: None


class Recorder:
    """Compiles launches to LLVM IR."""

    def __init__(self, target, arguments):
        self.target = target
        self.arguments = arguments
        # How many forms each kernel has, and what distinguishes those that were tried.
        self.forms = {}
        self.seen = set()

    def compile(self, function, signature, constants, options, attributes):
        import triton
        from triton.compiler import ASTSource

        file = Path(function.fn.__code__.co_filename).stem
        name = function.fn.__name__
        # Other numbers and alignments of arguments seldom make another kernel; types, constants and options do.
        form = (file, name, str(signature), str({path: value for path, value in constants.items() if value is not None}), str(options))
        count = self.forms.get((file, name), 0)
        if form in self.seen or count >= self.arguments.most_forms:
            return
        self.seen.add(form)
        try:
            compiled = triton.compile(ASTSource(function, signature, constants, attributes), target=self.target, options=options.__dict__)
        except Exception as problem:
            lines = str(problem).strip().splitlines() or [""]
            print(f"{file}.py {name} sm_{self.arguments.sm}: {type(problem).__name__}: {lines[-1]}", file=sys.stderr, flush=True)
            return
        self.forms[file, name] = count + 1
        path = self.arguments.output / f"{file}.{name}.{count}.{self.arguments.sm}.ll"
        path.write_text(with_old_constants(with_triple(compiled.asm["llir"])))


def record_launches(recorder):
    """Has Triton record its launches in place of executing them, for a device that it takes to be there."""
    import torch
    import triton
    import triton.testing
    from triton.backends.nvidia.compiler import CUDABackend
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    device = SimpleNamespace(
        get_current_device=lambda: 0,
        set_current_device=lambda device: None,
        get_current_stream=lambda device=0: 0,
        get_current_target=lambda: recorder.target,
        get_device_capability=lambda device=0: divmod(recorder.target.arch, 10),
        get_active_torch_device=lambda: torch.device("cuda", 0),
        get_device_interface=lambda: torch.cuda,
        get_benchmarker=lambda: lambda call, **options: (call(), [1.0, 1.0, 1.0])[1],
        get_empty_cache_for_benchmark=lambda: torch.empty(1),
        clear_cache=lambda cache: None,
        is_active=lambda: True,
        utils=SimpleNamespace(get_device_properties=lambda device: OF_DRIVER),
    )
    triton.runtime.driver.set_active(device)
    triton.testing.do_bench = triton.testing.do_bench_cudagraph = lambda call, **options: (call(), 1.0)[1]

    add_stages = CUDABackend.add_stages

    def to_llvm(self, stages, *rest):
        add_stages(self, stages, *rest)
        for stage in ("ptx", "cubin"):
            stages.pop(stage, None)

    CUDABackend.add_stages = to_llvm
    triton.compiler.compiler.CompiledKernel.__init__ = lambda self, source, group, hash: setattr(
        self, "asm", {path.suffix[1:]: path.read_text() for path in map(Path, group.values()) if path.suffix == ".llir"}
    )

    def run(self, *arguments, grid=None, warmup=False, **options):
        options["debug"] = False
        options.pop("instrumentation_mode", None)
        _, _, _, backend, bind = self.device_caches[0]
        bound, specialization, others = bind(*arguments, **options)
        parsed, signature, constants, attributes = self._pack_args(backend, options, bound, specialization, others)
        recorder.compile(self, signature, constants, parsed, attributes)
        if callable(grid):
            grid(bound)
        return Launched()

    JITFunction.run = run

    def run_some(self, *arguments, **options):
        self.nargs = dict(zip(self.arg_names, arguments))
        result = None
        for config in list(self.prune_configs(options))[: recorder.arguments.most_forms]:
            self.best_config = config
            chosen = {**options, **config.all_kwargs()}
            if config.pre_hook:
                config.pre_hook({**self.nargs, **chosen})
            result = self.fn.run(*arguments, **chosen)
        self.nargs = None
        return result

    Autotuner.run = run_some


class Timeout(BaseException):
    """Ends a test or script whose time is over; what catches exceptions does not catch it."""


class FewCases:
    """A plug-in of pytest that runs a few cases of each test, each for a limited time."""

    def __init__(self, most, seconds):
        self.most, self.seconds = most, seconds

    def pytest_collection_modifyitems(self, items):
        tests = {}
        for item in items:
            tests.setdefault(item.nodeid.split("[")[0], []).append(item)
        items[:] = [case for cases in tests.values() for case in cases[:: -(-len(cases) // self.most)]]

    def pytest_runtest_call(self, item):
        signal.alarm(self.seconds)

    def pytest_runtest_teardown(self, item):
        signal.alarm(0)


def out_of_time(*_):
    raise Timeout


def execute(path, arguments):
    if re.search(r"^ *(def|class) [Tt]est", path.read_text(errors="replace"), re.MULTILINE):
        import pytest

        quiet = ["-q", "--no-header", "--assert=plain", "--tb=line", "-p", "no:cacheprovider", "-W", "ignore"]
        if pytest.main([*quiet, str(path)], plugins=[FewCases(arguments.most_cases, arguments.seconds)]) != pytest.ExitCode.NO_TESTS_COLLECTED:
            return
    signal.alarm(arguments.seconds * arguments.most_cases)
    try:
        runpy.run_path(str(path), run_name="__main__")
    except (Exception, SystemExit, Timeout) as problem:
        print(f"{path.name}: {type(problem).__name__}: {problem}", file=sys.stderr)
    signal.alarm(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="+")
    parser.add_argument("--sm", default="80")
    parser.add_argument("--most-forms", type=int, default=2)
    parser.add_argument("--most-cases", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--stand-ins", action="store_true", help="for modules that are missing, so that a project need not be installed whole")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGALRM, out_of_time)
    target = gpu_target(arguments.sm)
    mode = pretend_gpu(target.arch)
    recorder = Recorder(target, arguments)
    record_launches(recorder)
    sys.argv[1:] = []
    if arguments.stand_ins:
        sys.meta_path.append(ProjectsMissingModules(("triton", "torch", "oriel")))
    with mode:
        for path in arguments.paths:
            execute(path.resolve(), arguments)
    print(f"{sum(recorder.forms.values())} forms of {len(recorder.forms)} kernels", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
