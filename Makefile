# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
.DEFAULT_GOAL := help
# Where it is set, each process that a test starts would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
# Processes that run tests side by side: they hardly ever wait, so one for each of two cores.
WORKERS ?= 2
# The same for tests that start processes: these often wait, so three for two cores.
WAITING ?= 3
# A part of the end-to-end tests, such as 2/4, for one of several machines.
SHARD ?=
# Where parts of the end-to-end suite leave what was asked of their API servers.
REQUESTS := .pytest_cache/requests
# What needs no program but Python, and what of it starts no process of ours.
HERE := not controlplane and not kubectl and not browser
INSIDE := $(HERE) and not processes
# Properties of whole runs, and what every plugin promises: make laws.
LAWS := tests/laws tests/parity tests/fuzz $(wildcard tests/*/test_contract*.py)
BIN := .venv/bin
RUN := .venv/.run-$(shell cat requirements/run.txt sandbox/pyproject.toml | cksum | tr ' ' -)
BROWSER := .venv/.browser-$(shell cat requirements/dev.txt requirements/browser.txt | cksum | tr ' ' -)
DEV := .venv/.dev-$(shell cat requirements/dev.txt sandbox/pyproject.toml | cksum | tr ' ' -)
# What the tests of the sandbox depend on. Once they have passed, make test leaves them out until the
# content of one of these files changes; a clean clone has passed nothing.
CONTRACT := sandbox crds requirements/dev.txt operator/enbloc/client operator/enbloc/errors.py \
  $(patsubst %,operator/enbloc/model/%.py,names pins quantity text times)
PASSED = .venv/.sandbox-$(shell find -L $(CONTRACT) -type f ! -name '*.pyc' | LC_ALL=C sort | \
  xargs cksum | cksum | tr ' ' -)
LEFT_OUT = $(if $(wildcard $(PASSED)),--ignore=sandbox/tests)
# CACHE is the folder in which pytest keeps what failed; hack/ci.py gives each stage its own.
PYTEST = $(BIN)/python -m pytest --durations=25 $(if $(CACHE),-o cache_dir=$(CACHE))

.PHONY: help setup demo near test laws check gate fix smoke nightly test-all processes real e2e permissions \
  browser e2e-older soak check-go build build-all bench bench-check faults sync docs lock krew image fixtures

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("enbloc needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv .venv

# uv takes seconds where pip takes minutes; where it fails (it reads no pip.conf), pip installs.
locked = $(UV) --require-hashes -r requirements/$(1).txt || $(PIP) --require-hashes -r requirements/$(1).txt
define install
	awk '/^[^ ]/ { ours = /^uv==/ } ours' requirements/dev.txt > .venv/uv.txt
	$(PIP) --no-deps --require-hashes -r .venv/uv.txt && $(call locked,$(1))
	$(PIP) --no-deps --no-build-isolation --editable . --editable sandbox
endef
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python

$(RUN): | .venv/bin/python
	$(call install,run)
	touch $@

$(DEV): | .venv/bin/python
	$(call install,dev)
	touch $@ $(RUN)

$(BROWSER): $(DEV)
	$(call locked,browser)
	touch $@

setup: $(DEV)  ## make .venv with everything the tests and checks need
	@echo 'To have enbloc on PATH in this terminal: . $(BIN)/activate'

demo: $(RUN)  ## two gangs that would deadlock one by one, placed by enbloc (no cluster needed)
	$(BIN)/enbloc demo $(ARGS)

near: $(DEV)  ## the tests that what you changed may break: one to three minutes
	$(BIN)/python hack/near.py $(ARGS)

test: $(DEV)  ## the tests that need Python only: no process, no real waiting, no reruns
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not slow and $(INSIDE)" \
	  --ignore=tests/e2e $(addprefix --ignore=,$(LAWS)) $(or $(ARGS),$(LEFT_OUT))
	$(if $(ARGS),,touch $(PASSED))

laws: $(DEV)  ## laws, parity with kube-scheduler, fuzz and what plugins promise
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not slow and $(INSIDE)" $(LAWS) $(ARGS)

check: $(DEV)  ## linters, types, import contracts, drift, docs
	$(BIN)/python hack/check.py $(ARGS)

smoke: $(DEV) build  ## what each user counts on, on a real kube-apiserver
	$(PYTEST) -n 2 --dist loadfile -m smoke tests/e2e $(ARGS)

gate: $(DEV)  ## what a submission must pass, on a clean clone of HEAD
	$(BIN)/python hack/gate.py

fix: $(DEV)  ## format, and fix what the linter can fix
	$(BIN)/ruff check --fix operator sandbox tests benchmarks hack
	$(BIN)/ruff format operator sandbox tests benchmarks hack

nightly: $(DEV)  ## all that gate leaves out, or some of its stages (ARGS="processes soak")
	$(BIN)/python hack/ci.py nightly $(ARGS)

test-all: $(DEV)  ## the slow tests, and properties with more examples
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "(slow or hypothesis) and $(INSIDE)" \
	  --ignore=tests/e2e --hypothesis-profile=full $(ARGS)

processes: $(DEV)  ## the tests that start processes
	$(PYTEST) -n $(WAITING) --dist worksteal -m "processes and $(HERE)" --ignore=tests/e2e $(ARGS)

real: $(DEV) build-all  ## the tests outside tests/e2e that need kube-apiserver, kubectl or helm
	$(PYTEST) -n $(WAITING) --dist loadfile -m "controlplane or kubectl" --ignore=tests/e2e $(ARGS)

# The differential suites, which take longest, begin.
e2e: $(DEV) build-all  ## the end-to-end suite, or a part of it (SHARD=2/4)
	rm -rf $(REQUESTS)
	files="$(if $(SHARD),$$($(PYTHON) hack/shard.py $(SHARD)),tests/e2e)" && test -n "$$files" && \
	$(PYTEST) -n $(WAITING) --dist loadfile --no-loadscope-reorder --requests=$(REQUESTS) \
	  --ignore=tests/e2e/test_permissions_e2e.py $$files $(ARGS)

permissions: $(DEV)  ## whether the end-to-end suite used each permission, and was refused none; after e2e
	$(PYTEST) tests/e2e/test_permissions_e2e.py --requests=$(REQUESTS)

browser: $(BROWSER)  ## the page in a headless Chromium, which is on PATH (ARGS=--pictures draws those in docs)
	$(BIN)/python hack/axe_core.py
	$(PYTEST) -m browser tests/browser $(ARGS)

# What depends on the server most. Recordings and the comparison with kube-scheduler are of the newest,
# and which permissions are never used only the whole suite can tell.
OLDER := tests/crds tests/manifests/test_applied.py tests/e2e/test_gangs_e2e.py \
  tests/e2e/test_permissions_e2e.py tests/e2e/test_recipes_e2e.py tests/e2e/test_doctor_e2e.py
MINORS ?= 1.35 1.34
e2e-older: $(DEV)  ## a part of the end-to-end suite on older minors of Kubernetes
	set -e; for minor in $(MINORS); do \
	  $(BIN)/python hack/build_controlplane.py --kubernetes=$$minor; \
	  ENBLOC_KUBERNETES=$$minor $(PYTEST) -n 0 -m controlplane $(OLDER) \
	    -k "not granted_was_used" $(ARGS); \
	done

check-go: $(DEV)  ## the checks that need Go: the chart, and scripts of workflows
	$(BIN)/python hack/check.py chart actionlint

build:  ## etcd and kube-apiserver, built with Go: minutes, once for each version
	$(PYTHON) hack/build_controlplane.py --only etcd,kube-apiserver

build-all: $(DEV)  ## all programs of others that tests and checks need
	$(PYTHON) hack/build_controlplane.py
	$(PYTHON) hack/build_controlplane.py --only helm3,kubeconform,actionlint
	$(BIN)/python -m tests.hack.wheels

soak: $(DEV)  ## half an hour of faults, kills and lost nodes at random, on a real kube-apiserver
	$(BIN)/python hack/build_controlplane.py
	$(BIN)/python -m tests.e2e.soak $(ARGS)

bench: $(DEV)  ## all benchmarks, and a table of what is aimed at (an hour; ARGS=lone-500 runs one)
	$(BIN)/python -m benchmarks --peer kube-scheduler --peer coscheduling $(ARGS)

bench-check: $(DEV)  ## the benchmarks of the engine alone, held to benchmarks/budgets.yaml
	$(BIN)/python -m benchmarks --check --cheap $(ARGS)

faults: $(DEV)  ## plant one fault after the other in the engine, and see what the tests notice (ten minutes)
	$(BIN)/python hack/planted_faults.py $(ARGS)

sync: $(DEV)  ## render the copies of crds/ and roles in manifests/ and helm/
	$(BIN)/python hack/sync.py

fixtures: $(DEV)  ## have other projects' controllers make what tests read; ARGS=--check compares
	$(BIN)/python hack/build_controlplane.py
	$(BIN)/python hack/fixtures.py $(ARGS)

docs: $(DEV)  ## build the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site

lock: $(DEV)  ## pin requirements/*.txt again, a week behind the newest releases
	$(BIN)/python hack/lock.py

krew: $(DEV)  ## build the plugin of kubectl that krew installs, for each platform
	$(BIN)/python hack/krew.py $(ARGS)

image: $(DEV)  ## build wheel and container image, with docker, podman or buildah
	$(BIN)/python hack/image.py $(ARGS)
