# `make run` shows Oriel at work, `make test` runs everything that CI runs. See README.md.

CARGO ?= cargo
PYTHON ?= python3

.PHONY: run test build test-binaries dist setup lint unit lit identity execute phases docs differential memory mutate python clean help
.PHONY: identity-short phases-short differential-short install uninstall deb install-test threads compare soak soak-short random-c random-c-short

help:
	@echo "make run       build, compile every example without and with Oriel, print a table"
	@echo "make test      all tests, linters and the format check"
	@echo "make lint unit lit identity-short execute phases-short docs differential-short mutate memory soak-short random-c-short python install-test    the parts of make test"
	@echo "make identity  every example in all configurations; make phases: with every phase; make differential: 300 generated kernels"
	@echo "make soak      thousands of modules with every check on; make random-c: hundreds of random C programs"
	@echo "make threads   eight threads that compile, with ThreadSanitizer; make compare: llc and Oriel judged by ptxas"
	@echo "make install   builds and installs below PREFIX (/usr/local), with DESTDIR in front; make uninstall removes it"
	@echo "make deb       builds and makes a Debian package in build/"

run: setup build
	$(PYTHON) scripts/run_examples.py

# Two parts at a time, since many leave a processor idle at their end. What compiles goes first. The branch counts of `dist` double
# its time, and the large products of configurations are run in part: `make dist identity phases differential` runs all.
TWO_AT_A_TIME = --no-print-directory --jobs=2 --output-sync=target DIST=--without-counts
test: setup
	@$(MAKE) $(TWO_AT_A_TIME) test-binaries dist
	@$(MAKE) $(TWO_AT_A_TIME) lint unit lit identity-short execute phases-short docs differential-short mutate memory soak-short random-c-short python install-test
	@echo "make test: everything passed"

setup:
	@scripts/setup.sh

build:
	$(CARGO) build --release

# The tests of `unit`, not run.
test-binaries: build
	$(CARGO) test --release --no-run

# The plug-in that is installed; the tool is that of `build`. Slower to build, because it is optimised across crates and by counts
# of its branches; DIST= has the script's arguments.
dist: build
	$(PYTHON) scripts/build_dist.py $(DIST)

# In the profile that is built anyway, or the shim would be compiled again.
lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --release --all-targets -- -D warnings
	$(CARGO) clippy --release --no-default-features --all-targets -- -D warnings
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --release --no-deps --quiet

# Random inputs are the same in every run; for others: make unit PROPTEST_RNG_SEED=2 PROPTEST_CASES=10000
export PROPTEST_RNG_SEED ?= 1
unit:
	$(CARGO) test --release

lit:
	scripts/run_lit.sh

# Every example, exported and rebuilt, byte for byte.
identity:
	$(PYTHON) scripts/check_identity.py

# Each example in a seventh of the configurations, and its neighbours in others.
identity-short:
	$(PYTHON) scripts/check_identity.py --share 7

# Every example's launches in the interpreter, at both stages.
execute:
	$(PYTHON) scripts/check_execution.py

# Each phase alone on every example.
phases:
	$(PYTHON) scripts/check_phases.py --sm 90

# A third of the phases on each example, and others on its neighbours.
phases-short:
	$(PYTHON) scripts/check_phases.py --sm 90 --share 3

# The commands of README.md and docs/*.md, and the comparison of commits that docs/ci.md describes.
docs:
	$(PYTHON) scripts/check_docs.py
	$(PYTHON) scripts/check_ci.py

# Generated kernels before and after phases, and wrong edits in as many.
differential: KERNELS = 300
differential-short: KERNELS = 120
differential differential-short: build
	$${CARGO_TARGET_DIR:-target}/release/oriel differential --generate $(KERNELS) --save build/differential
	$${CARGO_TARGET_DIR:-target}/release/oriel differential --generate $(KERNELS) --mutate all

# Damaged snapshots and plans.
mutate:
	$(PYTHON) scripts/check_mutations.py

# The shim with AddressSanitizer, over all examples.
memory:
	$(PYTHON) scripts/check_memory.py

# The package for Python, installed and tested in a fresh virtual environment.
python: build
	$(CARGO) clippy --release -p oriel-python -- -D warnings
	scripts/check_python.sh

# Under sudo there is often no cargo, and it should not leave root's files among the user's: what is built is installed.
ifndef SUDO_USER
install deb: dist
endif

export PREFIX ?= /usr/local
export DESTDIR
install:
	@scripts/install.sh

uninstall:
	@scripts/install.sh --uninstall

deb:
	@scripts/make_deb.sh

# The installed tree: C and C++ hosts built against it, moved, removed; the package; messages where LLVM is missing.
install-test: dist
	$(PYTHON) scripts/check_install.py

# Eight threads that compile, with ThreadSanitizer; builds Rust's standard library, so it is not part of `make test`, which runs
# the same without the sanitizer.
threads:
	$(PYTHON) scripts/check_threads.py

# llc alone and Oriel's profiles, judged by ptxas; COMPARE= has the script's arguments.
compare: build
	$(PYTHON) scripts/compare.py $(COMPARE)

# Examples in all configurations and thousands of generated modules, with every check on; SOAK= has the script's arguments.
soak: build
	$(PYTHON) scripts/soak.py $(SOAK)

soak-short:
	$(PYTHON) scripts/soak.py --examples none --generated 120

# Random C programs as kernels compute what they compute on the host; RANDOM_C= has the script's arguments.
random-c: build
	$(PYTHON) scripts/check_random_c.py $(RANDOM_C)

random-c-short:
	$(PYTHON) scripts/check_random_c.py --programs 30

clean:
	$(CARGO) clean
	rm -rf build
