#!/usr/bin/env python3
"""Runs ci/compare.py on a repository that it makes, and the steps of ci/github and ci/gitlab with it.

    scripts/check_ci.py

The repository has a kernel on its main branch. A change that needs more registers has to fail, with an annotation at the line
of the kernel; it has to pass with thresholds that allow it, and so does a change of a comment. Not run are the services
themselves: that GitHub and GitLab accept the files is not known here.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import common
import examples

LIGHT = """// A copy.
#include "oriel_cuda.h"
extern "C" __global__ void k(float *out, const float *in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i];
}
"""

# Values that are all live over a barrier.
HEAVY = LIGHT.replace("  if (i < n)\n    out[i] = in[i];\n", """  float v[32];
#pragma unroll
  for (int j = 0; j < 32; ++j)
    v[j] = in[i + j * n];
  __syncthreads();
#pragma unroll
  for (int j = 0; j < 32; ++j)
    out[i + j * n] = v[j] * v[(j + 7) % 32];
""")

LINE_OF_PEAK = range(4, 14)


class Repository:
    """A git repository with a kernel and the script that compiles it."""

    def __init__(self, folder):
        self.folder = Path(folder) / "repository"
        self.folder.mkdir()
        include = common.ROOT / "examples/include"
        self.build = (f"{common.llvm_bin()}/clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 "
                      f"--cuda-feature={examples.PTX_FEATURE} -O2 -g1 -nocudainc -nocudalib -I {include} -emit-llvm -c src/k.cu -o k.bc")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit(LIGHT)
        self.git("checkout", "--quiet", "-b", "change")

    def git(self, *words):
        """Runs git; the user's settings do not matter."""
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        subprocess.run(["git", *identity, *words], cwd=self.folder, check=True, env={**os.environ, **nothing})

    def commit(self, source):
        """Commits a kernel."""
        (self.folder / "src").mkdir(exist_ok=True)
        (self.folder / "src/k.cu").write_text(source)
        self.git("add", "src")
        self.git("commit", "--quiet", "-m", "A kernel")

    def compare(self, *words):
        """Runs the script; returns the process, and the results in SARIF and in GitLab's form."""
        command = [sys.executable, common.ROOT / "ci/compare.py", "--base", "main", "--build", self.build, "--files", "*.bc",
                   "--sm", "80,90", "--oriel", common.tool(), "--code-quality", "quality.json", "--annotate", *words]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        log = json.loads((self.folder / "oriel.sarif").read_text())
        return done, log, json.loads((self.folder / "quality.json").read_text())


def check(condition, what, seen=""):
    """Stops if something does not hold."""
    if not condition:
        sys.exit(f"check_ci.py: {what}\n{seen}")


def check_log(log):
    """What SARIF 2.1.0 requires of the parts that are used, and that every rule is declared."""
    check(log["version"] == "2.1.0" and len(log["runs"]) == 1, "the log's version or runs", log)
    driver = log["runs"][0]["tool"]["driver"]
    rules = [rule["id"] for rule in driver["rules"]]
    check(driver["name"] == "Oriel" and len(set(rules)) == len(rules), "the rules are not unique", rules)
    for result in log["runs"][0]["results"]:
        check(result["ruleId"] in rules, "a rule is not declared", result)
        check(result["level"] in ("error", "warning"), "a level is unknown", result)
        check(result["message"]["text"], "a message is empty", result)
        check(result["partialFingerprints"], "there is no fingerprint", result)


def check_worse(repository):
    """A change that needs more registers."""
    repository.commit(HEAVY)
    done, log, quality = repository.compare()
    check(done.returncode == 1, "worse figures do not fail", done.stderr)
    check_log(log)
    results = log["runs"][0]["results"]
    found = [result for result in results if result["ruleId"] == "registers_estimate"]
    check(len(found) == 2, "there is not one result for each SM", results)
    for result in found:
        place = result["locations"][0]["physicalLocation"]
        check(place["artifactLocation"]["uri"] == "src/k.cu", "the file is not relative to the repository", place)
        check(place["region"]["startLine"] in LINE_OF_PEAK, "the line is not in the kernel", place)
    check(re.search(r"^worse: k \(sm_90\): registers_estimate \d+ -> \d+", done.stdout, re.M), "no text", done.stdout)
    check(re.search(r"^::error file=src/k.cu,line=\d+,title=", done.stdout, re.M), "no annotation", done.stdout)
    check(len(quality) == len(results) and quality[0]["location"]["path"] == "src/k.cu", "GitLab's report", quality)
    check(len({entry["fingerprint"] for entry in quality}) == len(quality), "fingerprints are not unique", quality)
    allowed = ["--tolerate-registers", "200", "--tolerate-instructions", "10000", "--tolerate-spill-risk", "100", "--tolerate-warps", "64"]
    done, log, quality = repository.compare("--", *allowed)
    check(done.returncode == 0, "thresholds do not allow it", done.stdout + done.stderr)
    check(log["runs"][0]["results"] == [] == quality, "what is tolerated is annotated", log)


def check_same(repository):
    """A change that changes no code."""
    repository.commit(LIGHT.replace("// A copy.", "// Copies."))
    done, log, quality = repository.compare()
    check(done.returncode == 0, "equal figures fail", done.stdout + done.stderr)
    check(log["runs"][0]["results"] == [] == quality, "equal figures are annotated", log)


def check_broken(repository):
    """Commits that do not build fail, and leave no work tree."""
    repository.commit("no kernel")
    command = [sys.executable, common.ROOT / "ci/compare.py", "--base", "main", "--build", repository.build, "--files", "*.bc",
               "--sm", "80", "--oriel", common.tool()]
    done = subprocess.run(command, cwd=repository.folder, capture_output=True, text=True)
    check(done.returncode == 1 and "exit status 1 of: " in done.stderr, "a broken build passes", done.stderr)
    trees = subprocess.run(["git", "worktree", "list"], cwd=repository.folder, capture_output=True, text=True, check=True).stdout
    check(len(trees.splitlines()) == 1, "a work tree is left", trees)


def check_templates():
    """The options that the action and the template pass exist."""
    known = subprocess.run([sys.executable, common.ROOT / "ci/compare.py", "--help"], capture_output=True, text=True, check=True).stdout
    for name in "github/action.yml", "gitlab/oriel.gitlab-ci.yml":
        text = (common.ROOT / "ci" / name).read_text()
        call = text[text.index("python3 "):].split(" -- $")[0]
        used = set(re.findall(r"--[a-z-]+", call))
        check({"--base", "--files", "--sarif"} <= used, f"{name} does not call compare.py", call)
        for option in used:
            check(f"{option} " in known or f"{option}\n" in known or f"{option}]" in known, f"{name}: unknown option {option}", known)


def main():
    check_templates()
    with tempfile.TemporaryDirectory(prefix="oriel-check-ci-") as folder:
        repository = Repository(folder)
        check_same(repository)
        check_worse(repository)
        check_broken(repository)
    print("ci/compare.py: passes what is the same or allowed, annotates what is worse, refuses what does not build")


if __name__ == "__main__":
    main()
