"""Compares the package with the output of the command line tool."""

import concurrent.futures
import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import oriel
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs/report.schema.json"


def tool(*arguments):
    """Returns the output of the command line tool."""
    program = os.environ.get("ORIEL_TOOL")
    if not program:
        pytest.skip("ORIEL_TOOL does not name the command line tool")
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def test_fields_are_those_of_the_schema():
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    fields = {field.name: field for field in dataclasses.fields(oriel.FunctionReport)}
    assert fields.keys() == schema["properties"].keys()
    required = [name for name, field in fields.items()
                if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING]
    assert set(required) == set(schema["required"])


def test_report_is_the_tools(kernel_file):
    report = oriel.report(kernel_file, sm=[80, "90a"])
    assert report.json_lines == tool("report", "--sm", "80,90a", "--json", "--details", kernel_file)
    assert [function.sm for function in report] == [80, 90]
    assert report["scale"] is report[0]
    assert report[0].is_kernel and report[0].peak_pressure_r32 > 0 and report[0].peaks
    assert report[0].ptxas_registers is None
    with pytest.raises(KeyError):
        report["nothing"]
    assert repr(report).splitlines()[1].split()[:2] == ["scale", "80"]


def test_page_is_the_tools(kernel_file, tmp_path):
    report = oriel.report(kernel_file, sm=90, profile="ptxas")
    tool("report", "--sm", "90", "--profile", "ptxas", "--html", tmp_path / "tool.html", kernel_file)
    report.save(tmp_path / "package.html")

    def without_times(path):
        """Returns the page without the data of phases, which contain times."""
        return [line for line in path.read_text(encoding="utf-8").splitlines() if 'class="function"' not in line]

    assert without_times(tmp_path / "package.html") == without_times(tmp_path / "tool.html")
    frame = report._repr_html_()
    assert frame.startswith("<iframe") and frame.count("<") == 2


def test_sources_of_all_kinds_give_the_same(kernel, kernel_file):
    bitcode = subprocess.run(["llvm-as-22", "-o", "-"], input=kernel.encode(), check=True, capture_output=True).stdout
    compiled = [oriel.compile(source, sm=80).ptx for source in (kernel, kernel.encode(), bitcode, kernel_file, str(kernel_file))]
    assert compiled == [compiled[0]] * 5
    assert oriel.report(kernel, 80, name="mine.ll")[0].module == "mine.ll"


def test_compilation_is_the_tools(kernel_file):
    # Without the option, `max` leaves the kernel alone: it needs few registers.
    flags = "-oriel-least-pressure=0"
    compiled = oriel.compile(kernel_file, sm="sm_90a", ptx_version=86, level=3, flags=flags)
    assert compiled.ptx == tool("compile", "--sm", "90a", "--ptx", "86", "-O3", "--oriel", flags, kernel_file)
    assert ".target sm_90a" in compiled.ptx and ".version 8.6" in compiled.ptx
    assert [stage.stage for stage in compiled.stages] == ["ssa", "late"]
    assert compiled.stages[0].phases and compiled.report[0].function == "scale"
    assert compiled.report[0].registers_estimate == compiled.stages[1].registers_estimate


def test_options_are_of_one_compilation(kernel):
    assert not oriel.compile(kernel, 80, flags="-oriel=analyze").stages[0].phases
    # The kernel needs few registers, so `max` leaves it alone unless told otherwise.
    assert not oriel.compile(kernel, 80, profile="max").stages[0].phases
    flags, phase = "-oriel-least-pressure=0", "Rematerialize"
    assert phase in oriel.compile(kernel, 80, profile="max", flags=flags).stages[0].phases
    flags += f" -oriel-disable-phases={phase}"
    assert phase not in oriel.compile(kernel, 80, profile="max", flags=flags).stages[0].phases
    assert "fma" not in oriel.compile(kernel, 80).ptx
    assert "fma" in oriel.compile(kernel, 80, fp_fusion=True).ptx


def test_options_of_llvm_are_of_one_compilation_too(kernel):
    flags = "-nvptx-mad-wide-opt"
    assert "mad.wide" in oriel.compile(kernel, 80, llvm_flags=flags).ptx
    assert "mad.wide" not in oriel.compile(kernel, 80).ptx
    instructions = [oriel.report(kernel, 80, llvm_flags=flags)[0].instructions_out for flags in (flags, "")]
    assert instructions[0] < instructions[1]
    with pytest.raises(oriel.Error, match="LLVM has no option nothing"):
        oriel.compile(kernel, 80, llvm_flags=f"{flags} -nothing=1")
    with pytest.raises(oriel.Error, match="LLVM does not accept nothing"):
        oriel.compile(kernel, 80, llvm_flags=f"{flags} -pre-RA-sched=nothing")
    with pytest.raises(oriel.Error, match="expected"):
        oriel.compile("not\nIR", 80, llvm_flags=flags)
    assert "mad.wide" not in oriel.compile(kernel, 80).ptx
    # `tune` writes its options in this form.
    scheduled = "-pre-RA-sched=list-burr"
    assert oriel.compile(kernel, 80, llvm_flags=f"{scheduled} {flags}").ptx


def test_options_of_llvm_do_not_reach_other_threads(kernel):
    def has_mad_wide(llvm_flags):
        return "mad.wide" in oriel.compile(kernel, 80, llvm_flags=llvm_flags).ptx

    options = ["-nvptx-mad-wide-opt", ""] * 40
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert list(threads.map(has_mad_wide, options)) == [option != "" for option in options]


def test_live_intervals_are_the_tools(kernel_file, tmp_path):
    late = oriel.live(kernel_file, 80)[1]
    assert (late.function, late.stage) == ("scale", "late")
    oriel.compile(kernel_file, 80, flags=f"-oriel=analyze -oriel-snapshot={tmp_path}")
    (snapshot,) = tmp_path.glob("*late*.oriel")
    printed = tool("live", snapshot)
    assert printed.endswith(str(late))
    assert str(oriel.live(snapshot)[0]) == str(late)
    register, segments = next(iter(late.registers.items()))
    assert f"%{register} " + "".join(f"[{start},{end}:" for start, end in segments[:1]) in late.text


def test_tuning_is_the_tools(kernel_file):
    arguments = ["--rounds", "1", "--estimate", "--random-orders", "1"]
    tuned = oriel.tune(kernel_file, 80, goal="occupancy", arguments=arguments)
    printed = json.loads(tool("tune", "--sm", "80", "--goal", "occupancy", "--json", *arguments, kernel_file))
    assert tuned.fields == printed
    assert tuned.fields["judge"] == "estimate" and tuned.functions[0]["function"] == "scale"
    assert tuned.ptx == oriel.compile(kernel_file, 80, flags=tuned.flags).ptx
    shown = repr(tuned).splitlines()
    assert shown[0].split() == ["function", "registers", "spilled", "warps", "code"]
    assert shown[1].split()[0] == "scale" and shown[-1].startswith("flags: ")


@pytest.mark.parametrize(("call", "message"), [
    (lambda: oriel.report("nothing.ll"), "nothing.ll: error: Could not open input file: No such file or directory"),
    (lambda: oriel.report("define\nvoid", name="mine.ll"), "mine.ll:2:5: error: expected function name"),
    (lambda: oriel.compile(b"BC\xc0\xde damaged"), "<bytes>: error: "),
    (lambda: oriel.compile("\n", flags="-oriel=fast"), "-oriel: "),
    (lambda: oriel.compile("\n", level=4), "level 4 is not in 0 to 3"),
    (lambda: oriel.compile("target triple = \"x86_64-linux\"\n"), "<string>: its target is x86_64-linux, not nvptx64"),
    (lambda: oriel.report("nothing.mir", ptx_version=86), "nothing.mir: --ptx takes LLVM IR"),
    (lambda: oriel.report("\n", sm=999), "<string>: LLVM 22"),
    (lambda: oriel.report("\n", profile="best"), "'best'"),
    (lambda: oriel.tune("\n", 80), "<string>: there is no kernel to tune"),
    (lambda: oriel.tune("\n", 80, goal="speed"), "error: invalid value 'speed' for '--goal <GOAL>'"),
])
def test_errors_are_exceptions_with_the_tools_message(call, message):
    with pytest.raises(oriel.Error) as caught:
        call()
    assert message in str(caught.value)
    assert str(caught.value).count("mine.ll") <= 1 and str(caught.value).count("nothing.ll") <= 1


def test_an_unknown_sm_is_an_error_that_lists_the_known(kernel, capfd):
    with pytest.raises(oriel.Error, match="knows no sm_999; it knows .*sm_80, .*sm_90, sm_90a, sm_100,"):
        oriel.compile(kernel, 999)
    with pytest.raises(oriel.Error, match="knows no ptx999; it knows .*ptx86,"):
        oriel.compile(kernel, 90, ptx_version=999)
    assert capfd.readouterr().err == ""


def test_other_threads_run_while_something_compiles(kernel):
    """Another thread compiles; with the interpreter's lock held this one would not run."""
    large = kernel + "".join(kernel.split("define", 1)[1].split("declare")[0].join(["define", ""]).replace("@scale", f"@k{number}")
                             for number in range(400))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        compilation = pool.submit(oriel.compile, large, 80)
        ticks = 0
        while not compilation.done():
            time.sleep(0.001)
            ticks += 1
        compilation.result()
    assert ticks > 5


def test_a_missing_llvm_is_named():
    """The message names the package, which the loader's message does not."""
    script = """
import sys, types
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "oriel._oriel":
            raise ImportError("libLLVM.so.22.1: cannot open shared object file: No such file or directory")
sys.meta_path.insert(0, Missing())
import oriel
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.stderr.splitlines()[-1] == (
        "ImportError: Oriel needs LLVM 22 (libLLVM.so.22.1: cannot open shared object file: No such file or directory): "
        "apt-get install libllvm22")


def test_a_ptxas_can_be_named(kernel, tmp_path):
    ptxas = tmp_path / "my ptxas"
    ptxas.write_text("#!/bin/sh\ncat > /dev/null\necho \"$@\" > \"$0.arguments\"\n"
                     "echo 'ptxas info : Function properties for scale' >&2\necho 'ptxas info : Used 33 registers' >&2\n")
    ptxas.chmod(0o755)
    for run in (oriel.report, oriel.compile):
        found = run(kernel, "90a", ptxas=ptxas)
        report = found if run is oriel.report else found.report
        assert report["scale"].ptxas_registers == 33
        assert "-arch=sm_90a" in (tmp_path / "my ptxas.arguments").read_text()
    with pytest.raises(oriel.Error, match="no ptxas: No such file"):
        oriel.report(kernel, 80, ptxas=tmp_path / "no ptxas")
