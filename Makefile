# Every recipe makes what it needs: a virtual environment in .venv, the compiled package, and for Kafka the jars that
# `jgo` keeps in its cache. A second call finds all of it in place.

PYTHON ?= python3
BIN := .venv/bin
# The image: docker if its daemon runs, else podman, else buildah. `IMAGE_OPTIONS` are further options of `build`.
IMAGE ?= river-margins
IMAGE_OPTIONS ?=
BUILDER ?= $(shell docker info >/dev/null 2>&1 && echo docker || command -v podman || command -v buildah)
# Processes that share the suite: many of its tests wait for a broker.
PROCESSES ?= 6
# The warning that an editable installation gives is for those who did not ask for one.
PIP_INSTALL := PYTHONWARNINGS="ignore:Editable installation" $(BIN)/python -m pip install --quiet --no-build-isolation
CORE_TESTS := tests/river_margins tests/golden
QUICK_TESTS := $(addprefix tests/,golden learners river_margins/rules river_margins/tasks river_margins/snapshot/test_snapshot.py \
	connectors/model connectors/config/test_load.py docs/test_docs.py)
SOURCES := setup.py $(shell find river_margins connectors -name '*.pyx' -o -name '*.pxd' -o -name '*.h')

# Hundreds of processes import the same modules: each would compile them again.
unexport PYTHONDONTWRITEBYTECODE
# Where pip is told to install for the user, it refuses to install into a virtual environment.
export PIP_USER := 0

.DEFAULT_GOAL := help
.PHONY: help demo test check repeat mutate lint docs image image-test spark-test bench figures torture sanitize clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/demo  ## the main job: Kafka, learner, kill -9 half-way, and the proof that nothing was lost or doubled
	$(BIN)/river-margins demo

test: .venv/dev  ## all tests but those of Spark and of the image, on a real Kafka
	$(BIN)/python -m pytest -n $(PROCESSES)

check: .venv/dev  ## a minute's worth between two edits: ruff, mypy, and tests without Kafka that cover most
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 $(QUICK_TESTS)

repeat: .venv/dev  ## the whole suite five times on the machine as it is and five times under load, with a tally
	$(BIN)/python -m tests.repeat --processes $(PROCESSES)

mutate: .venv/dev  ## more than 200 faults on purpose, one after the other, and which of them no test finds
	$(BIN)/python -m tests.mutation

lint: .venv/dev  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/docs  ## the documentation as a site in site/; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The format of OCI has no place for the check of health; docker knows no other format than its own.
image:  ## the image of a processor, by docker, podman or buildah
	@test -n "$(BUILDER)" || { echo "needs docker with its daemon, podman or buildah" >&2; exit 1; }
	$(BUILDER) build $(if $(filter docker,$(BUILDER)),,--format docker) --file deploy/Dockerfile --tag $(IMAGE) \
		--build-arg REVISION=$$(git rev-parse HEAD 2>/dev/null || echo unknown) $(IMAGE_OPTIONS) .

image-test: .venv/dev  ## the image built, and run against a real Kafka; as root, with buildah, crun and mmdebstrap
	IMAGE_TEST=1 $(BIN)/python -m pytest -rP tests/deploy/test_image.py

spark-test: .venv/spark  ## learners as keyed state of a real Spark; it downloads 450 MB once
	$(BIN)/python -m pytest -rs tests/connectors/spark

bench: .venv/dev  ## the benchmarks, peers in the same run
	$(BIN)/python benchmarks/learners.py
	$(BIN)/python benchmarks/processor.py

figures: .venv/dev  ## the figures of the documentation
	$(BIN)/python docs/figures/make.py
	$(BIN)/python -m docs.figures.lectures
	$(BIN)/python benchmarks/comparison.py

torture: .venv/dev  ## the long form of the crash tests, a million broken records, and forged snapshots
	$(BIN)/python -m tests.torture.campaign
	$(BIN)/python -m tests.torture.hostile
	$(BIN)/python -m tests.torture.snapshot_fuzz

# The preloaded libraries must be there before Python starts; leaks are not looked for because an interpreter that ends
# leaves its own, and tests/river_margins/core/test_memory.py looks for ours. By itself, pytest would put the source tree, with
# the modules in it, before all other folders.
sanitize: .venv/dev  ## the core's tests under the address and undefined-behaviour sanitizers (gcc)
	CFLAGS="-g -fsanitize=address,undefined -fno-omit-frame-pointer" \
		$(BIN)/python setup.py --quiet build --build-base build/sanitize --build-lib build/sanitize/lib
	PYTHONPATH=build/sanitize/lib:. PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
		$(BIN)/python -P -m pytest $(CORE_TESTS) --import-mode append -p no:cacheprovider --timeout 1800

# yyjson.c is a source; Cython writes all other C files.
clean:  ## remove what the recipes made here
	rm -rf .venv build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find river_margins connectors -name '*.so' -delete -o -name '*.c' ! -name yyjson.c -delete

# A folder that is half made, or of an old Python, would be taken for the environment by the next call.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "needs Python 3.11 or later: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/build: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet $$($(BIN)/python -c \
		'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	touch $@

# Compiled here, because pip would hide the progress; pip then finds the modules in place and compiles nothing.
.venv/compiled: .venv/build $(SOURCES)
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

.venv/demo: pyproject.toml | .venv/compiled
	$(PIP_INSTALL) -e '.[local-kafka]' || $(PIP_INSTALL) -e .
	touch $@

.venv/dev: pyproject.toml | .venv/compiled
	$(PIP_INSTALL) -e '.[dev]'
	touch $@ .venv/demo

.venv/spark: pyproject.toml | .venv/dev
	$(PIP_INSTALL) -e '.[spark]'
	touch $@

.venv/docs: pyproject.toml | .venv/compiled
	$(PIP_INSTALL) -e '.[docs]'
	touch $@
