# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
.DEFAULT_GOAL := help
PYTHON ?= python3
# Processes that run tests side by side. A third of their time is waiting, so three keep two cores busy.
WORKERS ?= 3
# Where parts of the end-to-end suite leave what was asked of their API servers.
REQUESTS := .pytest_cache/requests
# What needs no program but Python.
HERE := not controlplane and not kubectl
BIN := .venv/bin
RUN := .venv/.run-$(shell cksum < requirements/run.txt | tr ' ' -)
DEV := .venv/.dev-$(shell cksum < requirements/dev.txt | tr ' ' -)

.PHONY: help setup demo test test-all faults check fix e2e e2e-older soak bench bench-check sync docs lock image fixtures

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("enbloc needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv .venv

$(RUN): | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(DEV): | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@ $(RUN)

setup: $(DEV)  ## make .venv with everything the tests and checks need
	@echo 'To have enbloc on PATH in this terminal: . $(BIN)/activate'

demo: $(RUN)  ## two gangs that would deadlock each other, and do not (no cluster needed)
	$(BIN)/enbloc demo $(ARGS)

test: $(DEV)  ## the tests that need Python only, but for the slow ones
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and $(HERE)" $(ARGS)

test-all: $(DEV)  ## what test leaves out: the slow ones, and the laws with more examples
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "(slow or hypothesis) and $(HERE)" \
	  --hypothesis-profile=full $(ARGS)

faults: $(DEV)  ## plant one fault after the other in the engine, and see what the tests notice (hours)
	$(BIN)/python hack/planted_faults.py $(ARGS)

check: $(DEV)  ## linters, types, import contracts, drift
	$(BIN)/python hack/check.py

fix: $(DEV)  ## format, and mend what the linter can mend
	$(BIN)/ruff check --fix operator tests benchmarks hack
	$(BIN)/ruff format operator tests benchmarks hack

e2e: $(DEV)  ## the end-to-end suite on a real kube-apiserver
	$(BIN)/python hack/build_controlplane.py
	$(BIN)/python hack/build_controlplane.py --only helm3
	rm -rf $(REQUESTS)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "controlplane or kubectl" tests/e2e \
	  --ignore=tests/e2e/test_permissions_e2e.py --requests=$(REQUESTS) $(ARGS)
	$(BIN)/python -m pytest tests/e2e/test_permissions_e2e.py --requests=$(REQUESTS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "controlplane or kubectl" --ignore=tests/e2e $(ARGS)

# What depends on the server most. Recordings and the comparison with kube-scheduler are of the newest,
# and which permissions are never used only the whole suite can tell.
OLDER := tests/crds tests/manifests/test_applied.py tests/e2e/test_gangs_e2e.py \
  tests/e2e/test_permissions_e2e.py tests/e2e/test_recipes_e2e.py tests/e2e/test_doctor_e2e.py
MINORS ?= 1.35 1.34
e2e-older: $(DEV)  ## a part of the end-to-end suite on older minors of Kubernetes
	set -e; for minor in $(MINORS); do \
	  $(BIN)/python hack/build_controlplane.py --kubernetes=$$minor; \
	  ENBLOC_KUBERNETES=$$minor $(BIN)/python -m pytest -n 0 -m controlplane $(OLDER) \
	    -k "not granted_was_used" $(ARGS); \
	done

soak: $(DEV)  ## half an hour of faults, kills and lost nodes at random, on a real kube-apiserver
	$(BIN)/python hack/build_controlplane.py
	$(BIN)/python -m tests.e2e.soak $(ARGS)

bench: $(DEV)  ## all benchmarks, and a table of what is aimed at (an hour; ARGS=lone-500 runs one)
	$(BIN)/python -m benchmarks --peer kube-scheduler --peer coscheduling $(ARGS)

bench-check: $(DEV)  ## the benchmarks of the engine alone, held to benchmarks/budgets.yaml
	$(BIN)/python -m benchmarks --check --cheap $(ARGS)

sync: $(DEV)  ## render the copies of crds/ and roles in manifests/ and helm/
	$(BIN)/python hack/sync.py

fixtures: $(DEV)  ## have other projects' controllers make what tests read; ARGS=--check compares
	$(BIN)/python hack/build_controlplane.py
	$(BIN)/python hack/fixtures.py $(ARGS)

docs: $(DEV)  ## build the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site

lock: $(DEV)  ## pin requirements/*.txt again, a week behind the newest releases
	$(BIN)/python hack/lock.py

image: $(DEV)  ## build wheel and container image, with docker, podman or buildah
	$(BIN)/python hack/image.py $(ARGS)
