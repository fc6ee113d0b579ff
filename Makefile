# `make` alone says what there is. A fresh machine needs Python 3.11 or later and make, nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# one more than there are cores: some tests wait, for a kill or a cluster
TESTERS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )))
# --use-pep517: without it pip 23 warns of two packages that have no pyproject.toml
PIP := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check --use-pep517 -c constraints.txt

# set in some containers: every process would compile all that it imports anew, seconds each time
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test tools claims lint bench figures docs clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-7s %s\n", $$1, $$2 }' Makefile

run: $(VENV)/.run ## set everything up, then run the main job on the embedded data set
	$(BIN)/pate run mechanism=svt eps=1.0

test: $(VENV)/.dev ## set everything up, then run the tests
	$(BIN)/python -m pytest -n $(TESTERS) --dist worksteal -rs

tools: $(VENV)/.tools ## install other packages' learners and sweeper, which a few tests need

claims: $(VENV)/.dev ## run the commands of README.md and docs/ at full length, and compare their numbers (minutes)
	$(BIN)/python -m pytest -m claims -rs tests/docs

lint: $(VENV)/.dev ## ruff, import-linter and mypy, as before every commit
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python -m mypy

bench: $(VENV)/.dev ## measure speed, as ratios of things run side by side (BENCH=--quick: a minute)
	$(BIN)/python -m benchmarks $(BENCH)

figures: $(VENV)/.tools ## measure and draw the figures of docs/ again (FIGURES=privacy-cost: one; an hour)
	$(BIN)/python -m benchmarks.figures $(FIGURES)

docs: $(VENV)/.docs ## build the site from docs/ into dist/site (its tools are installed once)
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs dist/site

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache dist

# two stamps: a run need not wait for the tools of the developers, and who wants both does not resolve twice
$(VENV)/.run: pyproject.toml constraints.txt
	$(call install,.)
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	$(call install,.[dev])
	@touch $(VENV)/.run $@

$(VENV)/.tools: pyproject.toml constraints.txt
	$(call install,.[dev$(comma)tools])
	@touch $(VENV)/.run $(VENV)/.dev $@

$(VENV)/.docs: pyproject.toml constraints.txt
	$(call install,.[docs])
	@touch $(VENV)/.run $@

comma := ,

define install
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or later is needed: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "setting up $(VENV), once: about a minute"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) -e '$(1)'
endef
