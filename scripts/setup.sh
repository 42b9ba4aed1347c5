#!/usr/bin/env bash
# Installs what building, running and testing Oriel needs, as far as it is missing. Without the right to install,
# says exactly what to run.
set -euo pipefail

packages=(llvm-22-dev llvm-22-tools clang-22)
commands=(llvm-config-22 clang-22 g++ python3 dot pkg-config cmake)
# Elsewhere the test of the package is left out.
if command -v dpkg-deb >/dev/null; then commands+=(dpkg-shlibdeps); fi
missing=()
for command in "${commands[@]}"; do
  command -v "$command" >/dev/null || missing+=("$command")
done
[[ -d "$(llvm-config-22 --includedir 2>/dev/null)/llvm/CodeGen" ]] || missing+=("LLVM 22's headers")
[[ -x "$(llvm-config-22 --bindir 2>/dev/null)/FileCheck" ]] || missing+=("LLVM 22's FileCheck")
python3 -c 'import ensurepip' 2>/dev/null || missing+=("Python's venv")

if ((${#missing[@]})); then
  command -v g++ >/dev/null || packages+=(g++)
  command -v python3 >/dev/null || packages+=(python3)
  python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
  command -v dot >/dev/null || packages+=(graphviz)
  command -v pkg-config >/dev/null || packages+=(pkg-config)
  command -v cmake >/dev/null || packages+=(cmake)
  command -v dpkg-shlibdeps >/dev/null || packages+=(dpkg-dev)
  install="apt-get update && apt-get install -y ${packages[*]}"
  printf 'Missing:'; printf ' %s,' "${missing[@]}" | sed 's/,$//'; echo
  if [[ "$(id -u)" != 0 ]]; then
    echo "Run this as root, then start again:"
    echo "  $install"
    exit 1
  fi
  if ! command -v apt-get >/dev/null; then
    echo "Install LLVM 22 with its development files and tools, clang 22, Graphviz, pkg-config and CMake, with this system's package manager."
    exit 1
  fi
  echo "Installing: ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq "${packages[@]}" >/dev/null
fi

if ! command -v cargo >/dev/null; then
  echo "Missing: cargo. Install Rust 1.94 or newer (https://rustup.rs), then start again."
  exit 1
fi

if ! command -v chromium chromium-browser google-chrome >/dev/null; then
  { [[ "$(id -u)" == 0 ]] && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } 2>/dev/null ||
    echo "Without chromium the test of the report's page is left out."
fi

if ! command -v csmith >/dev/null; then
  { [[ "$(id -u)" == 0 ]] && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq csmith >/dev/null; } 2>/dev/null ||
    echo "Without csmith the test of random C programs is left out."
fi

if ! python3 -c 'import jsonschema' 2>/dev/null; then
  python3 -m pip install --quiet jsonschema 2>/dev/null ||
    echo "Without the Python package jsonschema the test of the report's schema is left out."
fi
