#!/usr/bin/env bash
# Installs the package for Python into a fresh virtual environment in build/python and runs its
# tests there. TRITON is the version of Triton for the tests.
set -euo pipefail
cd "$(dirname "$0")/.."

environment=build/python
pip=("$environment/bin/pip" --quiet --disable-pip-version-check --retries 2 --timeout 20)
rm -rf "$environment"
mkdir -p build
"${PYTHON:-python3}" -m venv "$environment"
"${pip[@]}" install . pytest
"${pip[@]}" install "triton==${TRITON:-3.6.0}" numpy ||
  echo "Triton ${TRITON:-3.6.0} cannot be installed: its tests are skipped."
ORIEL_TOOL="${CARGO_TARGET_DIR:-$PWD/target}/release/oriel" \
  "$environment/bin/python" -m pytest -q -p no:cacheprovider python/tests
