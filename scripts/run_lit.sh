#!/bin/sh
# Runs the lit suite: scripts/run_lit.sh [lit's arguments...]; without a path, all of lit-tests.
#
# lit, FileCheck, llc and clang come from ORIEL_LLVM_BIN if it is set, else from llvm-config-22. See
# lit-tests/lit.cfg.py for the rest of the environment.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)

if [ -z "${ORIEL_LLVM_BIN:-}" ]; then
  for config in llvm-config-22 llvm-config; do
    if command -v "$config" >/dev/null 2>&1; then
      ORIEL_LLVM_BIN=$("$config" --bindir)
      break
    fi
  done
fi
if [ -z "${ORIEL_LLVM_BIN:-}" ]; then
  echo "run_lit.sh: there is no llvm-config-22; set ORIEL_LLVM_BIN, or: apt-get install llvm-22-dev" >&2
  exit 1
fi
export ORIEL_LLVM_BIN

for tool in FileCheck split-file not; do
  if [ ! -x "$ORIEL_LLVM_BIN/$tool" ]; then
    echo "run_lit.sh: there is no $tool in $ORIEL_LLVM_BIN: apt-get install llvm-22-tools" >&2
    exit 1
  fi
done

lit=
for candidate in "$ORIEL_LLVM_BIN/lit" "$ORIEL_LLVM_BIN/llvm-lit" lit llvm-lit; do
  if command -v "$candidate" >/dev/null 2>&1; then
    lit=$candidate
    break
  fi
done
if [ -z "$lit" ]; then
  echo "run_lit.sh: there is no lit: apt-get install llvm-22-tools, or: pip install lit" >&2
  exit 1
fi

# The Python that lit names need not be the one that has the packages that tests ask for.
python=
if head -n 1 "$(command -v "$lit")" | grep -q '^#!.*python'; then
  python=python3
fi

# A path among the arguments takes the place of the whole suite.
for argument; do
  if [ -e "$argument" ]; then
    exec $python "$(command -v "$lit")" "$@"
  fi
done
exec $python "$(command -v "$lit")" "$@" "$root/lit-tests"
