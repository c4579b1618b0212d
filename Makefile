# contextfind: everything that is done with this checkout. `make` alone says what there is.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Some machines forbid Python to keep what it has compiled. Each program that a test starts then compiles all of ours anew.
unexport PYTHONDONTWRITEBYTECODE

VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
CONFIG ?=
DATA ?=
ARGS ?=
N ?= 10000
EXAMPLES ?= 150
ROUNDS ?= 100
SEED ?= 1
MINUTES ?= 10
SUITES ?= sdk langchain retrievers
WIRE ?=

# Installed is what these stamps say; a changed pyproject.toml installs again.
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev
FUZZ_STAMP := $(VENV)/.installed-fuzz
BROWSER_STAMP := $(VENV)/.installed-browser

define FIND_PYTHON
found=; \
for candidate in $(or $(PYTHON),python3.12 python3.11 python3.13 python3 python); do \
  if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
  then found=$$candidate; break; fi; \
done; \
if [ -z "$$found" ]; then \
  echo "contextfind needs Python 3.11 or newer with the venv module; $(if $(PYTHON),$(PYTHON) is none,none was found)." >&2; \
  echo "Debian and Ubuntu: apt-get install python3 python3-venv python3-dev. Or name one: make PYTHON=/path/to/python3.12" >&2; \
  exit 1; \
fi
endef

# hnswlib comes as source only; without a compiler its build ends in a page of pip output.
define CHECK_COMPILER
if ! command -v "$${CXX:-c++}" >/dev/null 2>&1 && ! command -v g++ >/dev/null 2>&1 && ! command -v clang++ >/dev/null 2>&1; then \
  echo "contextfind compiles one dependency (hnswlib), and no C++ compiler was found." >&2; \
  echo "Debian and Ubuntu: apt-get install g++. Fedora: dnf install gcc-c++. macOS: xcode-select --install" >&2; \
  exit 1; \
fi; \
if ! $(BIN)/python -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))'; then \
  echo "The headers of $$($(BIN)/python --version) are missing; hnswlib is compiled against them." >&2; \
  echo "Debian and Ubuntu: apt-get install python3-dev. Fedora: dnf install python3-devel" >&2; \
  exit 1; \
fi
endef

.PHONY: help
help: ## this list
	@echo "contextfind, from a checkout:"; echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo; echo "Variables: PYTHON=python3.12  VENV=.venv  DATA=\"DIR…\" ARGS=\"--help\" (bench-…)  N=10000 (bench-speed)  EXAMPLES=150 (fuzz-api)  MINUTES=10 (fuzz-parsers; soak 15)"

$(BIN)/python:
	@$(FIND_PYTHON); echo "Making $(VENV) with $$($$found --version)"; "$$found" -m venv "$(VENV)"

$(RUN_STAMP): pyproject.toml | $(BIN)/python
	@$(CHECK_COMPILER)
	@echo "Installing contextfind into $(VENV) (the first time one to three minutes: hnswlib is compiled)"
	@$(PIP) install --quiet -e .
	@touch $@

$(DEV_STAMP): pyproject.toml | $(BIN)/python
	@$(CHECK_COMPILER)
	@echo "Installing contextfind and its development tools into $(VENV) (the first time one to three minutes)"
	@$(PIP) install --quiet -e '.[dev]'
	@touch $(RUN_STAMP) $@

$(BROWSER_STAMP): $(DEV_STAMP)
	@echo "Installing playwright into $(VENV); the browser is the system's own (Debian: apt-get install chromium)"
	@$(PIP) install --quiet -e '.[browser]'
	@touch $@

$(FUZZ_STAMP): $(DEV_STAMP)
	@echo "Installing schemathesis and atheris into $(VENV)"
	@$(PIP) install --quiet -e '.[fuzz]'
	@touch $@

.PHONY: venv
venv: $(BIN)/python ## make the virtual environment, empty

.PHONY: install
install: $(RUN_STAMP) ## install contextfind into it; then: .venv/bin/contextfind --help
	@echo "Installed: $(BIN)/contextfind"

.PHONY: demo
demo: $(RUN_STAMP) ## start a server, add a small bilingual tree, ask five questions
	@$(BIN)/python -m examples.demo

.PHONY: serve
serve: $(RUN_STAMP) ## serve on 127.0.0.1:1933 (CONFIG=path/to/ov.conf)
	@$(BIN)/contextfind serve $(if $(CONFIG),--config $(CONFIG))

.PHONY: test
test: $(DEV_STAMP) ## the default test suite (some minutes on two cores)
	@$(BIN)/python -m pytest -m "not slow" --timeout 600 -n auto --maxprocesses 4 --dist worksteal

.PHONY: test-postgres
test-postgres: $(DEV_STAMP) ## the default test suite with all data in PostgreSQL, which it brings along
	@CONTEXTFIND_TEST_BACKEND=postgres $(BIN)/python -m pytest -m "not slow" --timeout 600 -n auto --maxprocesses 4 --dist worksteal $(ARGS)

.PHONY: test-slow
test-slow: $(DEV_STAMP) ## the heavier tests
	@$(BIN)/python -m pytest -m slow --timeout 1800

.PHONY: test-page
test-page: $(BROWSER_STAMP) ## the page in headless Chromium; PICTURES=docs/images takes those of the docs anew
	@CONTEXTFIND_TEST_PICTURES="$(PICTURES)" $(BIN)/python -m pytest -q -rs tests/browser

# The packages of others need each other in other versions: an environment per suite.
CLIENTS := .venv-clients
.venv-clients/%/.installed: tests/clients/%/requirements.txt | $(BIN)/python
	@echo "Installing what $< names into $(@D)"
	@$(BIN)/python -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check install --quiet -r $<
	@if [ -f $(<D)/alone.txt ]; then \
	  $(@D)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps -r $(<D)/alone.txt; fi
	@touch $@

.PHONY: test-clients
test-clients: $(DEV_STAMP) $(SUITES:%=$(CLIENTS)/%/.installed) ## other people's packages against a real server (SUITES="sdk langchain retrievers")
	@for suite in $(SUITES); do echo "== $$suite"; \
	  CONTEXTFIND_TEST_PYTHON=$(abspath $(BIN)/python) PYTHONPATH=$(CURDIR)/src \
	  $(CLIENTS)/$$suite/bin/python -m pytest -q -W ignore -p no:cacheprovider \
	    --confcutdir=tests/clients tests/clients/$$suite; \
	done
	@if [ -n "$(filter retrievers,$(SUITES))" ]; then echo "== types of the retrievers"; \
	  $(CLIENTS)/retrievers/bin/python -m mypy --follow-imports silent --cache-dir $(CLIENTS)/.mypy_cache \
	    src/contextfind/integrations; fi

.PHONY: replay
replay: $(DEV_STAMP) ## recorded exchanges of another server against ours: WIRE=path/to/wire.jsonl
	@if [ -z "$(WIRE)" ]; then echo 'Say which recording: make replay WIRE=path/to/wire.jsonl' >&2; exit 2; fi
	@$(BIN)/python -m tests.clients.replay $(WIRE) $(ARGS)

.PHONY: fuzz-api
fuzz-api: $(FUZZ_STAMP) ## thousands of generated requests against a running server (EXAMPLES=150)
	@$(BIN)/python -m tests.fuzz.api --examples $(EXAMPLES)

.PHONY: fuzz-parsers
fuzz-parsers: $(FUZZ_STAMP) ## each parser under fire for MINUTES=10, two at a time (ARGS="--only zip,uri")
	@nice $(BIN)/python -m tests.fuzz.parsers --minutes $(MINUTES) $(ARGS)

.PHONY: crash
crash: $(DEV_STAMP) ## kill -9 under mixed traffic, start, hold to what was promised (ROUNDS=100 SEED=1)
	@$(BIN)/python -m tests.crash --rounds $(ROUNDS) --seed $(SEED)

.PHONY: lint
lint: $(DEV_STAMP) ## format, style, types, floors, dependencies; no tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .

.PHONY: api-page
api-page: $(DEV_STAMP) ## write docs/api.md anew, with the answers of a server started for it
	@$(BIN)/python -m tests.house.api_page

.PHONY: audit
audit: $(DEV_STAMP) ## versions, licences and known faults of everything that is installed; asks no network
	@$(BIN)/python -m tests.house.audit

.PHONY: check
check: lint test ## everything that must be green before a push: lint, then test

.PHONY: bench-quality
bench-quality: $(DEV_STAMP) ## nDCG, recall, MRR on retrieval sets against the baseline: DATA="DIR…"
	@if [ -z "$(DATA)" ]; then echo 'Say which sets: make bench-quality DATA="path/to/set1 path/to/set2"' >&2; exit 2; fi
	@$(BIN)/python -m tests.benchmark.quality $(DATA) $(ARGS)

.PHONY: bench-ablation
bench-ablation: $(DEV_STAMP) ## what each ingredient of the scorer is worth on retrieval sets: DATA="DIR…"
	@if [ -z "$(DATA)" ]; then echo 'Say which sets: make bench-ablation DATA="path/to/set1 path/to/set2"' >&2; exit 2; fi
	@$(BIN)/python -m tests.benchmark.ablation $(DATA) $(ARGS)

.PHONY: bench-sessions
bench-sessions: $(DEV_STAMP) ## what search finds of committed conversations, without a chat model and with a stand-in
	@$(BIN)/python -m tests.benchmark.sessions $(ARGS)

.PHONY: bench-speed
bench-speed: $(DEV_STAMP) ## finds, start, memory, ingest and disk over N generated documents (N=10000)
	@$(BIN)/python -m tests.benchmark.speed --documents $(N) $(ARGS)

.PHONY: bench-postgres
bench-postgres: $(DEV_STAMP) ## the same finds on PostgreSQL and on the embedded engine, in turns (N=10000)
	@$(BIN)/python -m tests.benchmark.scaled --documents $(N) $(ARGS)

.PHONY: soak
soak: MINUTES = 15
soak: $(DEV_STAMP) ## a day of mixed traffic in MINUTES=15: what a server holds must stay as it is
	@nice $(BIN)/python -m tests.soak.run --minutes $(MINUTES) $(ARGS)

.PHONY: docs
docs: $(DEV_STAMP) ## check the documentation: links, commands, rooms, terms
	@$(BIN)/python -m pytest -q tests/house

IMAGE ?= contextfind:local

.PHONY: image
image: ## build the container image with docker or buildah (IMAGE=contextfind:local BASE_IMAGE=…)
	@IMAGE="$(IMAGE)" bash docker/build.sh

.PHONY: image-base
image-base: ## a base for it of Debian's packages, where no image registry is reached (root, debootstrap, buildah)
	@bash docker/base.sh

.PHONY: test-image
test-image: $(DEV_STAMP) ## run it as compose.yaml does, with docker or podman: answers, writes nowhere else, keeps its data
	@CONTEXTFIND_TEST_IMAGE="$(IMAGE)" $(BIN)/python -m pytest -q -rs -s tests/image

.PHONY: docker-lint
docker-lint: $(DEV_STAMP) ## check docker/, compose.yaml and deploy/ without an engine
	@$(BIN)/python -m pytest -q tests/house/test_docker.py tests/house/test_deploy.py

.PHONY: clean
clean: ## remove caches and what the builds left (keeps .venv and contextfind-data)
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage dist .venv-ci
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
