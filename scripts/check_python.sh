#!/usr/bin/env bash
# Installs the package for Python into a fresh virtual environment in build/python, and runs its tests there. TRITON is the
# version of Triton that they compile with.
set -euo pipefail
cd "$(dirname "$0")/.."

environment=build/python
rm -rf "$environment"
mkdir -p build
"${PYTHON:-python3}" -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check . pytest
"$environment/bin/pip" install --quiet --disable-pip-version-check "triton==${TRITON:-3.6.0}" numpy ||
  echo "Without Triton ${TRITON:-3.6.0} its tests are left out."
ORIEL_TOOL="${CARGO_TARGET_DIR:-$PWD/target}/release/oriel" \
  "$environment/bin/python" -m pytest -q -p no:cacheprovider python/tests
