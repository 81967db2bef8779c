# Everything goes through here. `make demo` and `make test` set up what they need; nothing is installed by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find crates python Cargo.toml Cargo.lock pyproject.toml -type f -not -name '*.so' -not -path '*/__pycache__/*')

.PHONY: help setup browser demo test test-long lint rust python docs golden bench clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.installed ## Make the virtual environment and install the package into it

# Two stamps: tools are installed once, the package again whenever its sources change.
$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	$(BIN)/python -m pip install --quiet '.[dev]'
	touch $@

demo: setup ## Train and tune a translation system in two minutes; leaves demo/report.html
	$(BIN)/dragoman demo --full

test: setup lint rust python ## Every check; what CI runs

lint: setup ## Formatting, linters, types, stubs, import rules
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	cd tests && ../$(BIN)/stubtest dragoman._core --ignore-disjoint-bases
	$(BIN)/lint-imports

# One seed, so that a change is judged on the same cases everywhere; `make test-long` draws new ones.
rust: ## Rust unit, property and fuzz tests
	PROPTEST_RNG_SEED=1 cargo test --quiet --workspace --locked

# The page is tested in Debian's Chromium. Where there is none, it is installed if this is Debian and we are root; where that
# cannot be, these tests are skipped and say so.
browser: ## Install Chromium, if it is missing and we may
	@command -v chromium >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null \
	      || echo "Chromium cannot be installed: tests of the page are skipped"; \
	  else echo "no Chromium, and not root on Debian: tests of the page are skipped"; fi; }

python: setup browser ## Python tests, and every example of README, docs and docstrings
	$(BIN)/pytest -n 2 -m "not long"

test-long: setup ## Slow checks: new random cases, a million fuzz inputs, damaged tables and samples, whole systems against sacreBLEU
	cargo test --quiet --workspace --locked
	FUZZ_CASES=1000000 cargo test --release --locked -p dragoman-nbest --test fuzz -- --nocapture
	FUZZ_CASES=1000000 cargo test --release --locked -p dragoman-phrase --test damaged -- --nocapture
	cargo test --release --locked -p dragoman-lm --test large -- --ignored --nocapture
	SAMPLE_STEPS=1000000 cargo test --release --locked -p dragoman-sample --lib
	$(BIN)/pytest -n 2 -m long

golden: setup ## Rewrite the golden files; review the diff
	$(BIN)/pytest tests/golden tests/test_docs.py --rewrite-golden

bench: setup ## Benchmarks against sacreBLEU and plain Python, as JSON
	for b in benchmarks/[a-z]*.py; do $(BIN)/python $$b || exit 1; done

clean: ## Remove everything that was built
	rm -rf $(VENV) target demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
