# Everything sets up what it needs in .venv, from python3 alone (or uv where it is installed).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

ifneq ($(UV),)
CREATE := uv venv --quiet --python $(PYTHON) $(VENV)
INSTALL := uv pip install --quiet --python $(BIN)/python
else
CREATE := $(PYTHON) -m venv $(VENV)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

.PHONY: help demo test test-all test-lowest test-newest lint bench docs clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.run  ## masses in a bowl (figure, animation) and the papers recomputed (report), in demo/
	@mkdir -p demo
	$(BIN)/saltus run bowl --out demo/bowl.nc --plot demo/bowl.png --animate demo/bowl.gif --force
	$(BIN)/saltus reproduce --quick --out demo/papers
	@echo "Look at demo/bowl.png and demo/bowl.gif; the numbers are in demo/bowl.nc (xarray reads it)."
	@echo "Open demo/papers/report.html in a browser: four papers, claim by claim."

# Each of the dozens of processes that tests start would compile all of saltus anew.
test test-all: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.test  ## the tests, without the slow ones
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q -m "not slow"

test-all: $(VENV)/.test  ## all tests, property tests with more examples
	SALTUS_HYPOTHESIS=thorough $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q

# Environments of their own, beside .venv: the lowest versions that pyproject.toml declares, and the newest there are.
test-lowest:  ## the tests, without the slow ones, with the oldest versions that are declared to work
	@$(MAKE) --no-print-directory VENV=.venv-lowest REQUIRE="-r .venv-lowest/pins.txt" .venv-lowest/.pins test

test-newest:  ## the tests, without the slow ones, with the newest versions of everything
	@rm -f .venv-newest/.test
	@$(MAKE) --no-print-directory VENV=.venv-newest REQUIRE="--upgrade jax jaxlib equinox diffrax xarray zarr typer" test

lint: $(VENV)/.lint  ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

bench: $(VENV)/.bench  ## measure against other programs; results in benchmarks/results
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/.docs  ## the documentation as a website in site/
	$(BIN)/python docs/make_gallery.py   # runs the catalogue; minutes the first time
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open site/index.html in a browser."

clean:  ## remove what the other verbs made
	rm -rf .venv .venv-lowest .venv-newest demo site build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache .benchmarks
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "saltus needs Python 3.11 or later; set PYTHON=..., as in: make PYTHON=python3.12 demo" >&2; exit 2; }
	$(CREATE)

$(VENV)/.pins: pyproject.toml .ci/lowest.py | $(VENV)/bin/python
	$(BIN)/python .ci/lowest.py > $(VENV)/pins.txt
	@touch $@

# The stamps are remade only when pyproject.toml changes.
$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) -e .
	@touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.docs $(VENV)/.bench: $(VENV)/.%: pyproject.toml | $(VENV)/bin/python
	$(INSTALL) -e ".[$*]" $(REQUIRE)
	@touch $@ $(VENV)/.run
