# make demo   the tour          make test   the tests         (both set everything up themselves)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q install -c constraints.txt
WORKERS ?= auto

.PHONY: demo test check schema clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed. Hint: make PYTHON=python3.12 demo"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Setting up the environment in $(VENV) (once) ..."
	@$(PIP) -e .
	@touch $@

$(VENV)/.test: $(VENV)/.base
	@echo "Adding the test tools (once) ..."
	@$(PIP) -e '.[test]'
	@touch $@

$(VENV)/.check: $(VENV)/.test
	@$(PIP) -e '.[test,check]'
	@touch $@

demo: $(VENV)/.base
	@$(BIN)/blowfish policy explain examples/census.yaml

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS)

# make check  format, lint, types, imports
check: $(VENV)/.check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pyright

# make schema  write the JSON Schema of the policy file to docs/
schema: $(VENV)/.base
	$(BIN)/python -m blowfish_privacy.spec > docs/policy-file.schema.json

clean:
	rm -rf $(VENV) build dist site demo-output .pytest_cache .hypothesis
