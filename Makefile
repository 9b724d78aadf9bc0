# Written for GNU make 3.81 and newer, so that the one of macOS does.
# ARGS="..." adds words to the command of a verb: make test ARGS="-k quota"

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.installed-to-run
DEV := $(VENV)/.installed-to-develop
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
COMPILE := $(BIN)/python -m uv --quiet pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make pins"

.PHONY: help setup demo walkthrough up doctor check test chaos gate fix bench pins clean
.DEFAULT_GOAL := help

help: ## What can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(DEV) ## The virtual environment, with everything for development and tests

demo: $(RUN) ## The whole portal on this machine with a simulated fleet, and its main job before your eyes
	@$(BIN)/python manage.py demo $(ARGS)

walkthrough: $(RUN) ## The main job once from nothing, its timeline, and an end; fails unless the cluster came
	@$(BIN)/python manage.py walkthrough $(ARGS)

up: $(RUN) ## The whole portal on this machine without demo data
	@$(BIN)/python manage.py up $(ARGS)

doctor: $(RUN) ## What is wrong with this installation, and how to mend it
	@$(BIN)/python manage.py doctor $(ARGS)

check: $(DEV) ## Format, lint, types, import contracts, migrations and the rules of the house: under a minute
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto -q tests/house $(ARGS)

test: $(DEV) ## Every test, in parallel
	$(BIN)/python -m pytest -n auto --dist loadgroup $(ARGS)

chaos: $(DEV) ## Jobs under a rain of faults for a quarter of an hour: who dies, what is lost; ARGS="--faults 1000 --minutes 90 --pace 1"
	$(BIN)/python -m tests.chaos.campaign $(ARGS)

gate: $(DEV) ## Stop playbooks at work in every way on the oldest Ansible that is supported
	.ci/ansible-gate $(ARGS)

fix: $(DEV) ## Format, and mend what the linter can mend itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(DEV) ## Measure what has to stay fast
	@set -e; for script in bench/*.py; do [ -e "$$script" ] || { echo "There is nothing to measure yet."; break; }; echo "== $$script"; $(BIN)/python "$$script" $(ARGS); done

pins: $(DEV) ## Resolve requirements*.in anew, with hashes; ARGS=--upgrade takes newer versions
	$(PIP) install uv
	$(COMPILE) $(ARGS) requirements.in --output-file requirements.txt
	$(COMPILE) $(ARGS) requirements-dev.in --output-file requirements-dev.txt
	$(COMPILE) $(ARGS) requirements-ansible-2.18.in --output-file requirements-ansible-2.18.txt
	$(COMPILE) $(ARGS) requirements-mitogen.in --output-file requirements-mitogen.txt

clean: ## Remove the virtual environment and caches; the data in var/ stay
	rm -rf $(VENV) $(VENV)-ansible-* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -not -path './var/*' -prune -exec rm -rf {} +

$(VENV)/.made:
	@PYTHON="$(PYTHON)" sh .ci/make-venv $(VENV)
	@touch $@

# The path file lets `pytest` and `celery` of the environment find the portal, wherever they are called.
$(RUN): requirements.txt | $(VENV)/.made
	@echo "Installing what the portal runs on ..."
	@$(PIP) install --require-hashes --requirement requirements.txt
	@$(BIN)/python -c 'import pathlib, sys, sysconfig; \
	pathlib.Path(sysconfig.get_path("purelib"), "quartermaster.pth").write_text(sys.argv[1] + "\n")' "$(CURDIR)"
	@touch $@

$(DEV): requirements-dev.txt requirements-mitogen.txt $(RUN)
	@echo "Installing what checks and tests need ..."
	@$(PIP) install --require-hashes --requirement requirements.txt --requirement requirements-dev.txt \
	--requirement requirements-mitogen.txt
	@touch $@
