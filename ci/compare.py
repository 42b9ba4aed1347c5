#!/usr/bin/env python3
"""Compares the kernels of a change with those of another commit, and fails if a figure got worse beyond a threshold.

Both commits are built by the same command in a work tree of their own. `oriel report` describes the LLVM IR or bitcode that
matches the pattern there, and `oriel diff` compares the two reports. See docs/ci.md.
"""

import argparse
import glob
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


def arguments():
    """The command line; what follows -- goes to `oriel diff`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     epilog="Options after -- go to oriel diff: its thresholds.")
    parser.add_argument("--base", required=True, help="commit or branch to compare with, such as origin/main")
    parser.add_argument("--files", required=True, help="pattern of the modules, below the work tree, such as 'build/**/*.bc'")
    parser.add_argument("--build", default="", help="shell command that makes the modules, run in each work tree")
    parser.add_argument("--sm", required=True, help="compute capabilities, such as 80,90a")
    parser.add_argument("--ptxas", action="store_true", help="also compare the figures of ptxas")
    parser.add_argument("--oriel", default="oriel", help="the tool [default: oriel]")
    parser.add_argument("--sarif", type=Path, default=Path("oriel.sarif"), help="file of the annotations [default: oriel.sarif]")
    parser.add_argument("--code-quality", type=Path, help="also write GitLab's code quality report")
    parser.add_argument("--annotate", action="store_true", help="also print GitHub's commands for annotations")
    own, rest = sys.argv[1:], []
    if "--" in own:
        place = own.index("--")
        own, rest = own[:place], own[place + 1:]
    return parser.parse_args(own), rest


def run(command, **more):
    """Runs a command, and stops with its status if it fails."""
    done = subprocess.run(command, **more)
    if done.returncode:
        shown = command if isinstance(command, str) else shlex.join(map(str, command))
        sys.exit(f"exit status {done.returncode} of: {shown}")
    return done


def report(options, tree):
    """The report's lines on the modules of a work tree. Sources are named relative to it, so that both trees' lines compare."""
    if options.build:
        # What a build prints is not the result of this script.
        run(options.build, shell=True, cwd=tree, stdout=sys.stderr)
    files = sorted(glob.glob(options.files, root_dir=tree, recursive=True))
    if not files:
        sys.exit(f"no module matches {options.files} in {tree}")
    command = [options.oriel, "report", "--json", "--sm", options.sm] + (["--ptxas"] if options.ptxas else []) + files
    return run(command, cwd=tree, stdout=subprocess.PIPE, text=True).stdout


def compare(options, rest, before, after, folder):
    """The exit status of `oriel diff`; it prints the changes."""
    paths = []
    for name, lines in ("before", before), ("after", after):
        paths.append(Path(folder) / f"{name}.json")
        paths[-1].write_text(lines, encoding="utf-8")
    command = [options.oriel, "diff", *paths, "--sarif", options.sarif, *rest]
    return subprocess.run(command).returncode


def place(result):
    """File and line of a result of SARIF; the first line if only the file is known."""
    physical = result["locations"][0]["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical.get("region", {}).get("startLine", 1)


def code_quality(results):
    """GitLab's form of the results."""
    severity = {"error": "major", "warning": "minor"}
    return [
        {
            "description": result["message"]["text"],
            "check_name": result["ruleId"],
            "fingerprint": result["partialFingerprints"]["function/v1"],
            "severity": severity[result["level"]],
            "location": {"path": place(result)[0], "lines": {"begin": place(result)[1]}},
        }
        for result in results
    ]


def escape(text, more=""):
    """Escapes the text of a command for GitHub."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def annotate(results):
    """Prints GitHub's command for each result."""
    for result in results:
        file, line = place(result)
        where = f"file={escape(file, ':,')},line={line},title={escape('Oriel: ' + result['ruleId'], ':,')}"
        print(f"::{result['level']} {where}::{escape(result['message']['text'])}")


def main():
    options, rest = arguments()
    with tempfile.TemporaryDirectory(prefix="oriel-ci-") as folder:
        base = Path(folder) / "base"
        run(["git", "worktree", "add", "--quiet", "--detach", base, options.base])
        try:
            before = report(options, base)
        finally:
            run(["git", "worktree", "remove", "--force", base])
        status = compare(options, rest, before, report(options, Path.cwd()), folder)
    if not options.sarif.exists():
        sys.exit(status or 1)
    results = json.loads(options.sarif.read_text(encoding="utf-8"))["runs"][0]["results"]
    if options.code_quality:
        options.code_quality.write_text(json.dumps(code_quality(results), indent=2) + "\n", encoding="utf-8")
    if options.annotate:
        annotate(results)
    return status


if __name__ == "__main__":
    sys.exit(main())
