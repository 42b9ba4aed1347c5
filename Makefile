# `make run` shows Oriel at work, `make test` runs everything that CI runs. See README.md.

CARGO ?= cargo
PYTHON ?= python3

.PHONY: run test build setup lint unit lit identity execute phases differential memory mutate clean help

help:
	@echo "make run       build, compile every example without and with Oriel, print a table"
	@echo "make test      all tests, linters and the format check"
	@echo "make lint unit lit identity execute phases differential mutate memory    the parts of make test"

run: setup build
	$(PYTHON) scripts/run_examples.py

test: setup lint build unit lit identity execute phases differential mutate memory
	@echo "make test: everything passed"

setup:
	@scripts/setup.sh

build:
	$(CARGO) build --release

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	$(CARGO) clippy --no-default-features --all-targets -- -D warnings
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --no-deps --quiet

# Random inputs are the same in every run; for others: make unit PROPTEST_RNG_SEED=2 PROPTEST_CASES=10000
export PROPTEST_RNG_SEED ?= 1
unit:
	$(CARGO) test --release

lit:
	scripts/run_lit.sh

# Every example, exported and rebuilt, byte for byte.
identity:
	$(PYTHON) scripts/check_identity.py

# Every example's launches in the interpreter, at both stages.
execute:
	$(PYTHON) scripts/check_execution.py

# Each phase alone on every example.
phases:
	$(PYTHON) scripts/check_phases.py --sm 90

# 300 generated kernels before and after phases, and wrong edits in 300.
differential: build
	$${CARGO_TARGET_DIR:-target}/release/oriel differential --generate 300 --save build/differential
	$${CARGO_TARGET_DIR:-target}/release/oriel differential --generate 300 --mutate all

# Damaged snapshots and plans.
mutate:
	$(PYTHON) scripts/check_mutations.py

# The shim with AddressSanitizer, over all examples.
memory:
	$(PYTHON) scripts/check_memory.py

clean:
	$(CARGO) clean
	rm -rf build
