# Two commands do everything on a machine with python3.11, make, git and gcc:
#   make certify   sets up, then certifies the shipped example and releases it on real data
#   make test      sets up if needed, then runs the tests
# one makes what a reviewer can carry away:
#   make checker   writes dist/dpaccount-checker.zip, which python3 runs as it is, and the checker extracted from
#                  the Coq proofs, for this platform; it fails where Coq is missing, after the zip file
#   make wheel     writes the wheel to dist, with what it is made of and the licences of that
# and one the documents as pages:
#   make site      writes build/site, to be opened in a browser
# Where Coq is installed, one proves the rules:
#   make formal    compiles the proofs, names what each rests on, and compares two checkers
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
EXAMPLE := examples/plan_finder
UNIT := one person's whole record: plan, visits, spending
LEDGER := sqlite:///$(EXAMPLE)/plan-finder.db

.PHONY: setup certify checker wheel test deep lint house bench scale site formal corpus clean

setup: $(TOOLS)

# What `make certify` needs. Modules are compiled when they are first imported; most never are.
# The stamp is written last, so that an interrupted set-up is done again.
# The locks name every package: with --no-deps pip only installs them. Its resolver, older than 23.3, takes
# the newest release for a dependency with extras (`coverage[toml]`), whatever the lock pins.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile --no-deps --require-hashes -r requirements.lock
	$(PIP) --no-build-isolation --no-deps -e .
	touch $(READY)

# What tests, linters and the site need besides, and every extra.
$(TOOLS): $(READY) requirements-dev.lock
	$(PIP) --no-deps --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip check
	touch $(TOOLS)

# The ledger is opened once; `release` itself never creates one, since a fresh ledger forgets what was spent.
$(EXAMPLE)/plan-finder.db: | $(READY)
	$(BIN)/dpaccount ledger init $(LEDGER) --epsilon 1 --delta 1e-6 --unit "$(UNIT)" --relation replace-one --measure approximate

certify: $(READY) $(EXAMPLE)/plan-finder.db
	$(BIN)/dpaccount release $(EXAMPLE)/claim.toml --yes

# Compiled proofs are kept where FORMAL_CACHE says; FORMAL_CACHE= compiles from nothing (.ci/formal.py says why).
checker formal: export FORMAL_CACHE ?= build/formal/cache

checker:
	$(PYTHON) .ci/zip_checker.py dist/dpaccount-checker.zip
	$(PYTHON) .ci/formal.py --program dist/dpaccount-verified-checker

# The wheel; beside it a bill of materials (CycloneDX) and the licences of all that users install with it.
wheel: $(TOOLS)
	$(BIN)/python -m build --wheel --no-isolation --outdir dist .
	$(BIN)/python .ci/sbom.py requirements.lock requirements-team.lock

# Two workers for two cores: a second thread of BLAS in each would only wait for the other worker's.
# Compiled modules are kept, whatever the environment asks: tests start hundreds of processes.
test deep: export OPENBLAS_NUM_THREADS = 1
test deep formal corpus: export PYTHONDONTWRITEBYTECODE =

# The quick tests; CHANGED=1 those near what changed, for half a minute (tests/README.md).
# A ledger waits for the disk at every entry: here they are in memory, where there is a folder for that.
test: export TMPDIR := $(or $(TMPDIR),$(wildcard /dev/shm))
test: $(TOOLS)
	$(BIN)/python -m $(if $(CHANGED),tests.reach --run,pytest -n 2)

# The deep tests: SLICE=7/20 one slice, SINCE=COMMIT without those that passed on a later commit, SEED=… repeats.
deep: $(TOOLS)
	$(BIN)/python -m tests.deep $(if $(SLICE),--slice $(SLICE)) $(if $(SINCE),--since $(SINCE)) $(if $(SEED),--seed $(SEED))

# What the program answers to a fixed set of questions, compared with what is kept; KEEP=1 keeps it.
corpus: $(TOOLS)
	$(BIN)/python tests/corpus/corpus.py $(if $(KEEP),--keep)

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python .ci/house.py

# The structure of the code, and the seconds that its users wait, against .ci/house.toml; sizes are printed alone.
house: $(TOOLS)
	$(BIN)/python .ci/house.py

# Ours beside peers and floors (docs/benchmarks.md; under ten minutes), and what size costs (docs/scale.md).
# PEERS=FOLDER names an environment in which peers are installed; one that is not is told as not measured.
bench: $(TOOLS)
	$(BIN)/python -m benchmarks.book $(if $(PEERS),--peers $(PEERS))

scale: $(TOOLS)
	$(BIN)/python -m benchmarks.scale

# Tutorials are run while it is built; a link, an anchor or a name that leads nowhere ends it.
site: $(TOOLS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "build/site/index.html"

# Proofs, axioms, the table of docs/formal.md, the extracted checker, and whether it agrees with the others.
formal: $(TOOLS)
	$(BIN)/python .ci/formal.py
	$(BIN)/python -m pytest -n 2 tests/formal

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
