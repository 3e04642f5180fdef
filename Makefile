# make demo       the tour, in a few seconds
# make studio     the studio in your browser, on the demo table
# make test       all tests but the engine servers' and the studio's
# make test-engines  the engine servers' tests: PostgreSQL and Spark, started and stopped by the tests
# make test-studio  the studio's tests, in a browser
# make net        whether anything that users see changed, for the same noise (NET=--help: show how, store anew)
# make check      format, lint, types, imports
# make dist       build the wheel and the source distribution, and try both in empty environments
# make lowest     the fast tests, with the lowest declared version of every dependency
# make bench      every performance claim beside its peers, as one table of ratios
# make bench-check  the quick benchmarks, compared with the table in the documentation
# make bench-synthetic  synthetic records of Adult (DATA=FOLDER) beside published ways and SmartNoise, about half an hour
# make bench-scale  how a release grows with rows and cells, on every engine
# make audit      a black-box audit of every mechanism, and the oracle checks on many more random policies
# make reproduce  the 2014 paper's figures, examples and counterexamples (REPRODUCE=--quick for minutes)
# make docs       the documentation site, its Python and console blocks run, into site/
# make pictures   draw the pictures of the guides anew, by running the guides
# make map        draw the rooms of the library and what they import, into docs/pictures/rooms.svg
# make schema     write the JSON Schema of the policy file to docs/
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
PEERS := .venv-peers
SMARTNOISE := .venv-smartnoise
PIP := $(BIN)/python -m pip --disable-pip-version-check -q install -c constraints.txt
# Written here, so that commands start as fast where Python is told to leave no bytecode behind.
BYTECODE := $(BIN)/python -m compileall -q src
WORKERS ?= auto
# A worker that has nothing left takes over half of what another has.
SHARED := -n $(WORKERS) --dist worksteal
EFFORT ?= 5
INSTANCES ?= 6000
FILES ?= 3000
REPRODUCE ?=
NET ?=

.PHONY: help demo studio test test-engines test-studio net check dist lowest bench bench-check bench-synthetic bench-scale audit reproduce docs pictures map schema clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed. Hint: make PYTHON=python3.12 demo"; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Setting up the environment in $(VENV) (once) ..."
	@$(PIP) -e .
	@$(BYTECODE)
	@touch $@

$(VENV)/.test: $(VENV)/.base
	@echo "Adding the test tools (once) ..."
	@$(PIP) -e '.[test]'
	@touch $@

$(VENV)/.engines: $(VENV)/.test
	@echo "Adding PostgreSQL's and Spark's clients (once) ..."
	@$(PIP) -e '.[engines]'
	@touch $@

$(VENV)/.studio: $(VENV)/.base
	@echo "Adding the studio (once) ..."
	@$(PIP) -e '.[studio]'
	@touch $@

$(VENV)/.test-studio: $(VENV)/.test
	@echo "Adding the studio and its test tools (once) ..."
	@$(PIP) -e '.[test-studio]'
	@touch $@

$(VENV)/.check: $(VENV)/.test
	@echo "Adding the checking tools (once) ..."
	@$(PIP) -e '.[engines,check]'
	@touch $@

$(LOWEST)/.lowest: pyproject.toml tests/distribution/lowest.py
	@echo "Setting up the environment with the lowest versions in $(LOWEST) (once) ..."
	@$(PYTHON) -m venv --clear $(LOWEST)
	@$(PYTHON) tests/distribution/lowest.py engines studio > $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pip --disable-pip-version-check -q install -c $(LOWEST)/constraints.txt \
	  -e '.[engines,studio]'
	@touch $@

# A peer needs an older scikit-learn than ours: the comparison has an environment of its own.
$(PEERS)/.peers: pyproject.toml constraints.txt
	@echo "Setting up the environment with the peers in $(PEERS) (once) ..."
	@$(PYTHON) -m venv $(PEERS)
	@sed '/^scikit-learn==/d' constraints.txt > $(PEERS)/constraints.txt
	@$(PEERS)/bin/python -m pip --disable-pip-version-check -q install -c $(PEERS)/constraints.txt -e '.[test,peers]'
	@touch $@

# Its other synthesisers need PyTorch: AIM and MST are installed without.
$(SMARTNOISE)/.peers:
	@echo "Setting up the environment with SmartNoise in $(SMARTNOISE) (once) ..."
	@$(PYTHON) -m venv $(SMARTNOISE)
	@$(SMARTNOISE)/bin/python -m pip --disable-pip-version-check -q install \
	  'mbi<2' 'disjoint-set<0.10' Faker pac-synth==0.0.8 'smartnoise-sql>=1.0.10'
	@$(SMARTNOISE)/bin/python -m pip --disable-pip-version-check -q install --no-deps smartnoise-synth==1.0.8
	@touch $@

demo: $(VENV)/.base
	@$(BIN)/blowfish demo

studio: $(VENV)/.studio
	@$(BIN)/blowfish studio --demo

# Its processes share the cores already: threads of linear algebra on tiny tables only wait for each other. And tests are
# compiled once and kept, as they are where somebody works.
test lowest audit: export OMP_NUM_THREADS = 1
test lowest: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.test
	@$(BYTECODE)
	$(BIN)/python -m pytest $(SHARED)

# The servers are started by the tests themselves, on the loopback interface.
test-engines: $(VENV)/.engines
	@tests/servers/install
	$(BIN)/python -m pytest -m servers
	$(BIN)/python -m pytest -m cluster

# The browser is Debian's; the tests start it, and the studio, themselves. Those that fail are tried once more, alone,
# until thirty whole runs have passed at the first try.
test-studio: $(VENV)/.test-studio
	@tests/studio/install
	$(BIN)/python -m pytest $(SHARED) -m studio || $(BIN)/python -m pytest --last-failed --last-failed-no-failures none -m studio

# A few minutes; a part of it is in make test.
net: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python -m documents.net $(NET)

check: $(VENV)/.check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pyright
	$(BIN)/python -m pytest tests/typed tests/docs/test_docstrings.py

# Builds and tries in environments of its own, in a temporary folder.
dist:
	$(PYTHON) tests/distribution/check.py

lowest: $(LOWEST)/.lowest
	$(LOWEST)/bin/python -m pytest $(SHARED) -m 'not slow and not servers and not cluster and not studio'

bench: $(PEERS)/.peers
	$(PEERS)/bin/python benchmarks/run.py

bench-check: $(PEERS)/.peers
	$(PEERS)/bin/python benchmarks/run.py --quick --check

bench-synthetic: $(VENV)/.test $(SMARTNOISE)/.peers
	$(BIN)/python benchmarks/synthetic.py $(DATA) --smartnoise $(SMARTNOISE)/bin/python

bench-scale: $(VENV)/.engines
	@tests/servers/install
	$(BIN)/python benchmarks/scale.py

audit: $(VENV)/.test
	$(BIN)/python -m blowfish_lab.audit.black_box --out audit-report
	$(BIN)/python -m blowfish_lab.audit.known_facts --instances $(INSTANCES)
	$(BIN)/python -m blowfish_lab.audit.odds --instances $(INSTANCES)
	PYTHONPATH=tests $(BIN)/python -m spoilt_files --instances $(FILES) examples/census.yaml
	BLOWFISH_EFFORT=$(EFFORT) $(BIN)/python -m pytest $(SHARED) tests/contracts tests/unit/testing
	BLOWFISH_EFFORT=50 $(BIN)/python -m pytest tests/unit/ledger/test_crashes.py

reproduce: $(VENV)/.test
	$(BIN)/blowfish reproduce $(FIGURE) $(REPRODUCE)
	$(BIN)/python -m pytest -v tests/contracts/test_neighbours.py

docs: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python -m docs.secret_graphs docs/pictures
	$(BIN)/python -m blowfish_privacy.results.pictures.errors docs/pictures
	$(BIN)/python examples/guide_pictures.py docs/pictures
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python -m pytest $(SHARED) tests/docs
	@echo "The site is in site/: open site/index.html, or python3 -m http.server -d site for the search."

# Noise repeats itself here, so that a picture changes only where its code does.
pictures: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python -m docs.draw

map: $(VENV)/.base
	PYTHONPATH=tests $(BIN)/python -m docs.rooms . docs/pictures/rooms.svg

schema: $(VENV)/.base
	$(BIN)/python -m blowfish_privacy.release.spec > docs/policy-file.schema.json

clean:
	rm -rf $(VENV) $(LOWEST) $(PEERS) $(SMARTNOISE) build dist site demo-output* examples-output .pytest_cache .hypothesis
