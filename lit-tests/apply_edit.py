"""Applies an edit script of a test and checks what comes of it: the substitutions %edited, %edited-mir and %refused.

    apply_edit.py accepted|refused TEST FOLDER NAME [PASS]

FOLDER has kernel.ll (or kernel.mir) and NAME.edit, as split-file makes them out of TEST. The tools come from the
environment: ORIEL_TEST_LLC (llc and its options), ORIEL_TEST_PLUGIN (the options that load and check), and
ORIEL_TEST_PTXAS (ptxas and its options, or nothing).
"""

import difflib
import os
import shlex
import subprocess
import sys
from pathlib import Path


def run(command, expected=0):
    """Runs a command and gives back what it wrote to standard error; ends the test if it fails."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != expected:
        sys.exit(f"{shlex.join(command)}\nexit status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stderr


def file_check(test, prefix, file):
    """FileCheck with the test's lines for `prefix`."""
    run(["FileCheck", test, f"--check-prefix={prefix}", f"--input-file={file}"])


def main(expectation, test, folder, name, stop_after=None):
    folder = Path(folder)
    kernel = next(path for path in (folder / "kernel.ll", folder / "kernel.mir") if path.exists())
    llc = shlex.split(os.environ["ORIEL_TEST_LLC"])
    edit = llc + shlex.split(os.environ["ORIEL_TEST_PLUGIN"]) + [f"-oriel-edit={folder / name}.edit", str(kernel)]
    output = folder / f"{name}.{'mir' if stop_after else 'ptx'}"
    if stop_after:
        # Machine IR is not compiled any further than by the pass itself.
        edit.append(f"-run-pass={stop_after}" if kernel.suffix == ".mir" else f"-stop-after={stop_after}")
    diagnostics = run(edit + ["-o", str(output)])
    if expectation == "accepted":
        if diagnostics:
            sys.exit(f"{shlex.join(edit)}\nwas to be silent, but:\n{diagnostics}")
        file_check(test, name, output)
        if os.environ.get("ORIEL_TEST_PTXAS") and not stop_after:
            run(shlex.split(os.environ["ORIEL_TEST_PTXAS"]) + [str(output)])
        return
    plain = folder / "plain.ptx"
    run(llc + [str(kernel), "-o", str(plain)])
    before, after = (path.read_text().splitlines(keepends=True) for path in (plain, output))
    difference = "".join(difflib.unified_diff(before, after, str(plain), str(output)))
    if difference:
        sys.exit(f"{shlex.join(edit)}\nwas to leave the function alone, but:\n{difference}")
    if diagnostics.count("\n") != 1 or not diagnostics.startswith("warning: oriel: function "):
        sys.exit(f"{shlex.join(edit)}\nwas to print one warning, but:\n{diagnostics}")
    errors = folder / f"{name}.err"
    errors.write_text(diagnostics)
    file_check(test, name, errors)


if __name__ == "__main__":
    main(*sys.argv[1:])
