"""Triton's kernels, compiled without a GPU."""

import os
import re

import oriel
import oriel.triton
import pytest

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")

from triton import knobs  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402


@triton.jit
def softmax(out, inp, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(inp + row * stride + columns, mask=columns < n, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + columns, values / tl.sum(values, axis=0), mask=columns < n)


@triton.jit
def matmul(a, b, c, k, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    sums = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for at in range(0, k, BLOCK):
        sums += tl.dot(tl.load(a + rows * k + at + columns), tl.load(b + (at + rows) * BLOCK + columns))
    tl.store(c + rows * BLOCK + columns, sums)


SOURCES = {
    softmax: ({"out": "*fp32", "inp": "*fp32", "stride": "i32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 1024}),
    matmul: ({"a": "*fp16", "b": "*fp16", "c": "*fp32", "k": "i32", "BLOCK": "constexpr"}, {"BLOCK": 64}),
}


def compile_kernel(function, capability):
    signature, constants = SOURCES[function]
    return triton.compile(ASTSource(fn=function, signature=signature, constexprs=constants),
                          target=GPUTarget("cuda", capability, 32))


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path, monkeypatch):
    """Gives the test its own cache of Triton, and uninstalls Oriel after it."""
    monkeypatch.setattr(knobs.cache, "dir", str(tmp_path))
    yield
    oriel.triton.uninstall()


@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.parametrize("function", SOURCES, ids=lambda function: function.__name__)
def test_a_report_has_registers_and_lines_and_changes_nothing(function, capability):
    before = compile_kernel(function, capability).asm["ptx"]
    with oriel.triton.report(ptxas=True) as kernels:
        compiled = compile_kernel(function, capability)
    assert compiled.asm["ptx"] == before
    (kernel,) = kernels
    assert kernels[function.__name__] is kernel and not kernel.is_oriels
    (found,) = kernel.report
    assert found.function == function.__name__ and found.sm == capability
    assert found.ptxas_registers > 0
    # The lines are those of the Python code. Instructions that Triton adds, or that LLVM merges from
    # several lines, have none or 0.
    values = [value for peak in found.peaks for value in peak["values"]]
    places = [place for value in values if value["definition"] for place in value["definition"]["source"][:1]]
    lines = {place["line"] for place in places if place["line"] and place["file"] == __file__}
    first = function.fn.__code__.co_firstlineno
    assert lines and all(first < line <= first + 9 for line in lines)
    # Others are in Triton's library. The page has the text of this file, wherever it is made.
    assert all(os.path.isfile(place["file"]) for place in places if place["line"])
    assert "def fresh_cache(tmp_path, monkeypatch):" in kernel.report.html
    compile_kernel(function, capability)
    assert len(kernels) == 1


@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.parametrize("function", SOURCES, ids=lambda function: function.__name__)
def test_installed_oriel_makes_the_code_that_ptxas_gets(function, capability):
    by_triton = compile_kernel(function, capability)
    oriel.triton.install(profile="max", flags="-oriel-verify -oriel-least-pressure=0", strict=True)
    with oriel.triton.report() as kernels:
        by_oriel = compile_kernel(function, capability)
    assert kernels[0].is_oriels and by_oriel.asm["ptx"] == kernels[0].ptx
    assert by_oriel.asm["ptx"] != by_triton.asm["ptx"]
    assert by_oriel.metadata.name == by_triton.metadata.name == function.__name__
    for directive in (r"^\.version .*", r"^\.target [\w]+", r"\.entry \w+"):
        found = [re.search(directive, compiled.asm["ptx"], re.MULTILINE).group() for compiled in (by_oriel, by_triton)]
        assert found[0] == found[1]
    # ptxas accepts it, with the parameters that Triton's launcher passes.
    assert by_oriel.asm["cubin"]
    parameters = [re.findall(r"\.param \S+ .*?_param_\d+", compiled.asm["ptx"].split("{")[0]) for compiled in (by_oriel, by_triton)]
    assert parameters[0] == parameters[1] != []
    # Triton's cache separates the two.
    oriel.triton.uninstall()
    assert compile_kernel(softmax, 80).asm["ptx"] != by_oriel.asm["ptx"]
    assert compile_kernel(function, capability).asm["ptx"] == by_triton.asm["ptx"]


def test_llvm_has_the_options_that_triton_sets():
    # A product and a sum of 64 bits are one instruction.
    assert "mad.wide" in compile_kernel(matmul, 80).asm["ptx"]
    with oriel.triton.report() as kernels:
        compile_kernel(matmul, 80)
        oriel.triton.install(flags="-oriel=analyze", strict=True)
        compile_kernel(matmul, 80)
    assert "mad.wide" in kernels[1].ptx
    for kernel in kernels:
        assert re.search(r"MAD_WIDE_[A-Z]\d", kernel.report.html)
        # Addresses of shared memory have 32 bits.
        assert re.search(r"\.shared\S*\s+\[ ?%r\d", kernel.ptx) and not re.search(r"\.shared.*\[ ?%rd", kernel.ptx)


def test_another_build_compiles_again(monkeypatch):
    oriel.triton.install(strict=True)
    stored = compile_kernel(softmax, 80)
    assert compile_kernel(softmax, 80).hash == stored.hash
    monkeypatch.setattr(oriel.triton, "_build", lambda: "another")
    assert compile_kernel(softmax, 80).hash != stored.hash


def test_ir_that_is_too_new_is_refused_with_the_reason(monkeypatch):
    newer = "define void @softmax() {\n  %a = fadd float f0x3FB8AA3B, -inf\n  ret void\n}\n"
    backend = oriel.triton._backend().CUDABackend
    make_llir = backend.make_llir

    def make_newer(self, *arguments):
        real = make_llir(self, *arguments)
        assert "@softmax" in real
        return newer

    by_triton = []
    monkeypatch.setattr(backend, "make_llir", make_newer)
    monkeypatch.setattr(backend, "make_ptx", lambda self, source, *rest: by_triton.append(source) or "no PTX")
    reason = rf"Oriel .*LLVM 22.* cannot compile what Triton {triton.__version__} writes for softmax: softmax.llir:2:19: error: "
    oriel.triton.install(strict=True)
    with pytest.raises(oriel.Error, match=reason):
        compile_kernel(softmax, 80)
    assert not by_triton
    oriel.triton.install()
    # Triton's code generation, here replaced, is next, and ptxas rejects its result.
    with pytest.warns(RuntimeWarning, match=reason), pytest.raises(Exception, match="ptxas"):
        compile_kernel(softmax, 80)
    assert by_triton == [newer]


def test_figures_of_ptxas_are_those_of_the_ptxas_that_triton_runs(monkeypatch):
    monkeypatch.delenv("LLVM_PTXAS_EXECUTABLE", raising=False)
    monkeypatch.setenv("PATH", "")
    oriel.triton.install(strict=True)
    with oriel.triton.report(ptxas=True) as kernels:
        # Triton 3.7's ptxas for sm_80 cannot read the PTX for sm_100a.
        for capability in (80, 100, 80):
            compile_kernel(softmax, capability)
    assert [kernel.report[0].ptxas_registers > 0 for kernel in kernels] == [True] * 3
    assert "LLVM_PTXAS_EXECUTABLE" not in os.environ


@pytest.mark.parametrize("installed", [False, True])
def test_estimates_are_for_optimized_code_as_triton_takes_debug_out_of_the_ptx(monkeypatch, installed):
    if installed:
        oriel.triton.install(strict=True)
    with oriel.triton.report() as kernels:
        by_default = compile_kernel(matmul, 80).asm["ptx"]
        monkeypatch.setattr(knobs.nvidia, "disable_ptxas_opt", True)
        for_debugger = compile_kernel(matmul, 80).asm["ptx"]
    causes = [{reason["cause"] for reason in kernel.report[0].registers_estimate_reasons} for kernel in kernels]
    assert "compiled for a debugger" not in causes[0] and "compiled for a debugger" in causes[1]
    for ptx in (by_default, for_debugger):
        assert re.search(r"^\.target sm_80$", ptx, re.MULTILINE) and ".loc" in ptx
    # ptxas -g reads these sections.
    assert ".debug_info" in for_debugger


@pytest.mark.skipif(not triton.__version__.startswith("3.6."), reason="3.5 has no variables, and 3.7.1 itself aborts")
def test_a_kernel_with_variables_stays_for_a_debugger(monkeypatch):
    monkeypatch.setattr(knobs.compilation, "dump_ir_extract_di_local_variables", True)
    by_triton = compile_kernel(softmax, 80).asm["ptx"]
    oriel.triton.install(strict=True)
    by_oriel = compile_kernel(softmax, 80).asm["ptx"]
    assert by_oriel != by_triton
    for ptx in (by_oriel, by_triton):
        assert re.search(r"^\.target sm_80, debug$", ptx, re.MULTILINE)


def test_kernels_print_as_tables_without_their_ptx():
    with oriel.triton.report() as kernels:
        assert repr(kernels) == "no kernels"
        compile_kernel(softmax, 80)
        compile_kernel(matmul, 80)
    assert repr(kernels["softmax"]) == f"softmax, sm_80, PTX by Triton\n{kernels[0].report!r}"
    assert str(kernels) == f"{kernels[0]!r}\n\n{kernels[1]!r}"


def test_reports_are_on_what_is_in_the_cache_too():
    compile_kernel(softmax, 80)
    with oriel.triton.report() as kernels:
        compile_kernel(softmax, 80)
    assert [kernel.name for kernel in kernels] == ["softmax"]
    assert kernels._repr_html_().count("<iframe") == 1
