#!/usr/bin/env python3
"""Runs the commands of the documents and compares what they print with what the documents say.

    scripts/check_docs.py [DOCUMENT ...]        without one: README.md and docs/*.md

In a block that is fenced as ```console

- a line that starts with `$ ` is a command for bash; one that ends in a backslash goes on in the next line;
- the lines behind it are what it prints, to standard output and standard error together. A line `…` stands for any
  number of lines, and `…` within a line for any text. Where there is no such line, whatever is printed will do;
- a last line `[exit status 1]` is the exit status, which is 0 otherwise.

The blocks of a document run in order, each command in a shell of its own, in one new folder for the document. That has
the files of `docs/fixtures/`, those that `prepare` below makes of examples, and what the root of the repository has:
`examples/`, and `oriel`, `liboriel.so` and `liboriel_laboratory.so` in `target/release`. PATH has `oriel` and LLVM's tools,
the latter with and without the suffix `-22`.

A comment above a block says what else there is to know:

    <!-- not run: REASON -->    the block is for readers only; the script lists it with the reason
    <!-- needs: TOOL ... -->    the block is left out, with a message, where ptxas, cmake, chromium or what it may be is missing

Without arguments it also checks that the documents name every command and option of `oriel --help`, and docs/report.md
every field of the report's lines.

Blocks of Rust are tests of the library: src/lib.rs includes the documents that have some. A block ```rust that is in none
of these has to say `ignore`.
"""

import argparse
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import common
import examples
import ptxas

SECONDS = 300
LLVM_TOOLS = ("clang", "clang++", "llc", "llvm-as", "llvm-dis", "llvm-link", "llvm-readelf", "llvm-remarkutil", "opt")


@dataclasses.dataclass
class Command:
    """A command of a document, and what it is said to print."""

    line: int
    text: str
    expected: list = dataclasses.field(default_factory=list)
    status: int = 0


@dataclasses.dataclass
class Block:
    """A fenced block with its commands; `reason` says why it does not run, `needs` what it takes."""

    document: Path
    line: int
    reason: str = ""
    needs: list = dataclasses.field(default_factory=list)
    commands: list = dataclasses.field(default_factory=list)


class WrongDocument(Exception):
    """A document does not keep to the form."""


def blocks_of(document):
    """The console blocks of a document."""
    found, marker, fence, block = [], "", None, None
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        if fence is not None:
            if line.strip() == "```":
                fence = None
            elif fence == "console":
                add_line(block, number, line)
            elif line.startswith("$ "):
                raise WrongDocument(f"{document}:{number}: a command in a block that is not fenced as console")
        elif line.startswith("```"):
            fence = line[3:].strip()
            if fence == "console":
                block = Block(document, number)
                read_marker(block, marker)
                found.append(block)
        elif line.strip():
            marker = line.strip()
            continue
        else:
            continue
        marker = ""
    return found


def read_marker(block, line):
    """What the comment above a block says."""
    if match := re.fullmatch(r"<!-- not run: (.+) -->", line):
        block.reason = match.group(1)
    elif match := re.fullmatch(r"<!-- needs: (.+) -->", line):
        block.needs = match.group(1).split()


def add_line(block, number, line):
    """Adds a line of a block: a command, more of one, or what it prints."""
    last = block.commands[-1] if block.commands else None
    if last and not last.expected and last.text.endswith("\\"):
        last.text += "\n" + line
    elif line.startswith("$ "):
        block.commands.append(Command(number, line[2:]))
    elif last is None:
        raise WrongDocument(f"{block.document}:{number}: output before the first command")
    elif match := re.fullmatch(r"\[exit status (\d+)\]", line):
        last.status = int(match.group(1))
    else:
        last.expected.append(line)


def pattern_of(expected):
    """The regular expression of what a command prints."""
    parts = []
    for line in expected:
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*")
        else:
            parts.append(".*".join(re.escape(text) for text in line.rstrip().split("…")) + r"\n")
    return re.compile("".join(parts))


def clean(text):
    """Output without blanks at the ends of lines and without empty lines at its end."""
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line}\n" for line in lines)


def compile_example(source, output):
    """Compiles an example, with lines in the source."""
    common.run([*examples.clang_command(source, output), "-g"])


def prepare(folder):
    """The example inputs that documents refer to."""
    shutil.copytree(common.ROOT / "docs/fixtures", folder, dirs_exist_ok=True)
    saxpy = "examples/linear-algebra/saxpy"
    shutil.copy(common.ROOT / f"{saxpy}.cu", folder / "kernel.cu")
    shutil.copy(common.ROOT / f"{saxpy}.toml", folder / "kernel.toml")
    compile_example(f"{saxpy}.cu", folder / "kernel.bc")
    common.run([common.llvm_bin() / "llvm-dis", folder / "kernel.bc"])
    parts = [folder / f"{name}.bc" for name in ("base64_encode", "huffman_decode")]
    for part in parts:
        compile_example(f"examples/codec/{part.stem}.cu", part)
    common.run([common.llvm_bin() / "llvm-link", *parts, "-o", folder / "kernels.bc"])
    for part in parts:
        part.unlink()
    compile_example("examples/physics/fft_radix2.cu", folder / "fft.bc")
    report = common.run([common.tool(), "report", "--sm", "80", "--json", folder / "kernels.bc"]).stdout
    for name in ("before.json", "after.json"):
        (folder / name).write_text(report, encoding="utf-8")


def link_tools(folder):
    """A folder for PATH with the tools that documents call."""
    folder.mkdir()
    (folder / "oriel").symlink_to(common.tool().resolve())
    for name in LLVM_TOOLS:
        for shown in (name, f"{name}-22"):
            (folder / shown).symlink_to(common.llvm_bin() / name)
    if assembler := ptxas.executable():
        (folder / "ptxas").symlink_to(assembler)


def environment(tools):
    """The environment of the commands: no options of ours from outside."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("ORIEL_")}
    variables.pop("LLVM_PTXAS_EXECUTABLE", None)
    variables["PATH"] = f"{tools}:{variables['PATH']}"
    return variables


def run_command(command, folder, variables):
    """What is wrong with what a command does; empty if nothing is."""
    shell = ["bash", "-c", command.text]
    try:
        result = subprocess.run(shell, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"it does not end within {SECONDS} s"
    printed = clean(result.stdout)
    if result.returncode != command.status:
        return f"exit status {result.returncode}, not {command.status}; it prints\n{printed}"
    if command.expected and not pattern_of(command.expected).fullmatch(printed):
        said = clean("\n".join(command.expected))
        return f"the document says\n{said}and it prints\n{printed}"
    return ""


def check(work):
    """Runs the blocks of one document: number of commands that passed, failures, and blocks left out, as texts."""
    blocks, inputs, tools = work
    passed, failures, left_out = 0, [], []
    variables = environment(tools)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "oriel"
        shutil.copytree(inputs, folder, symlinks=True)
        for block in blocks:
            place = f"{block.document.relative_to(common.ROOT)}:{block.line}"
            missing = [tool for tool in block.needs if not shutil.which(tool, path=variables["PATH"])]
            if block.reason or missing:
                left_out.append(f"not run: {place}: {block.reason or 'without ' + ', '.join(missing)}")
                continue
            for command in block.commands:
                if problem := run_command(command, folder, variables):
                    at = f"{block.document.relative_to(common.ROOT)}:{command.line}"
                    failures.append(f"FAIL {at}: $ {command.text}\n{problem}")
                else:
                    passed += 1
    return passed, failures, left_out


def check_rust(document, library):
    """Blocks of Rust that nothing compiles."""
    name = document.relative_to(common.ROOT)
    if f'include_str!("../{name}")' in library:
        return []
    lines = document.read_text(encoding="utf-8").splitlines()
    return [f"FAIL {name}:{number}: src/lib.rs does not include the document, so that nothing compiles this block\n"
            for number, line in enumerate(lines, 1) if line.strip() in ("```rust", "```rust,no_run")]


def undocumented():
    """What the tool's help or the schema of the report's lines has, and no document."""
    documents = [common.ROOT / "README.md", *(common.ROOT / "docs").glob("*.md")]
    text = "".join(document.read_text(encoding="utf-8") for document in documents)

    def help_of(*command):
        return subprocess.run([common.tool(), *command, "--help"], capture_output=True, text=True, check=True).stdout

    for command in re.findall(r"^  ([a-z]+)  ", help_of(), re.MULTILINE):
        if command == "help":
            continue
        if f"oriel {command}" not in text:
            yield f"no document names the command oriel {command}"
        for option in re.findall(r"^ +(?:-\w, )?--([a-z][a-z-]*)", help_of(command), re.MULTILINE):
            if option not in ("help", "version") and not re.search(rf"--{option}(?![a-z-])", text):
                yield f"no document names the option --{option} of oriel {command}"
    schema = json.loads((common.ROOT / "docs/report.schema.json").read_text(encoding="utf-8"))
    report = (common.ROOT / "docs/report.md").read_text(encoding="utf-8")
    for field in schema["properties"]:
        if f"`{field}`" not in report:
            yield f"docs/report.md does not name the field {field}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="*", type=Path)
    arguments = parser.parse_args()
    documents = [path.resolve() for path in arguments.documents]
    documents = documents or [common.ROOT / "README.md", *sorted((common.ROOT / "docs").glob("*.md"))]
    library = (common.ROOT / "src/lib.rs").read_text(encoding="utf-8")
    failures = [failure for document in documents for failure in check_rust(document, library)]
    if not arguments.documents:
        failures += undocumented()
    try:
        blocks = {document: blocks_of(document) for document in documents}
    except WrongDocument as error:
        sys.exit(f"check_docs.py: {error}")
    with tempfile.TemporaryDirectory() as scratch:
        inputs, tools = Path(scratch) / "inputs", Path(scratch) / "bin"
        (inputs / "target/release").mkdir(parents=True)
        (inputs / "examples").symlink_to(common.ROOT / "examples")
        (inputs / "target/release/oriel").symlink_to(common.tool().resolve())
        (inputs / "target/release/liboriel.so").symlink_to(common.plugin().resolve())
        (inputs / "target/release/liboriel_laboratory.so").symlink_to(common.laboratory().resolve())
        prepare(inputs)
        link_tools(tools)
        work = [(found, inputs, tools) for found in blocks.values() if found]
        results = common.parallel("documents", check, work)
    left_out = [text for _, _, texts in results for text in texts]
    failures += [failure for _, texts, _ in results for failure in texts]
    for text in left_out + failures:
        print(text)
    passed = sum(count for count, _, _ in results)
    print(f"{len(left_out)} blocks not run")
    print(f"docs: {passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
