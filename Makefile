# `make demo` and `make test` need Python 3.10 or newer and nothing else: what they install goes
# into .venv. `make help` lists the rest.

DIR ?= .
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
RUN := $(BIN)/python
RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed
PYTEST_ARGS ?=
COVERAGE ?=
HOSTS ?= pi claude-code codex gemini opencode
RAG_AGENT_HOSTS ?= .hosts

WORK ?= .eval
REPORT ?= benchmarks/quality.md
EVAL_ARGS ?=

export DIR Q1 Q2 Q3 PYTHON MAKECMDGOALS
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-hosts check lint types layers coverage inspect format lock upgrade build bench eval clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## */\1|/p' Makefile | while IFS='|' read -r name text; do \
		printf 'make %-10s %s\n' "$$name" "$$text"; done

demo: $(RUNTIME)  ## index this repository (or DIR=...), then ask it three questions (or Q1=... Q2=... Q3=...) over MCP
	@$(RUN) scripts/demo.py "$$DIR" $${Q1:+"$$Q1"} $${Q2:+"$$Q2"} $${Q3:+"$$Q3"}

test: $(DEV)  ## run the tests; PYTEST_ARGS="-k store" picks some
	$(RUN) $(if $(COVERAGE),-m coverage run) -m pytest $(PYTEST_ARGS)

test-hosts: $(DEV)  ## run it inside the real agents, offline (needs npm); HOSTS="pi codex" picks some
	sh scripts/hosts.sh "$(RAG_AGENT_HOSTS)" $(HOSTS)
	RAG_AGENT_HOSTS="$(RAG_AGENT_HOSTS)" $(RUN) -m pytest $(PYTEST_ARGS) \
		$(foreach host,$(HOSTS),$(wildcard tests/real_hosts/test_$(subst -,_,$(host))*.py))

check: lint types layers coverage  ## everything that must be green before a change lands

lint: $(DEV)  ## format and lint, without changing files
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .

types: $(DEV)  ## mypy, strict
	$(RUN) -m mypy

layers: $(DEV)  ## imports point down
	$(BIN)/lint-imports

coverage: $(DEV)  ## `make test` with the branches it covers, subprocesses included
	$(RUN) -m coverage erase
	$(MAKE) --no-print-directory test COVERAGE=yes
	$(RUN) -m coverage combine --quiet
	$(RUN) -m coverage report

inspect: $(RUNTIME)  ## the three tools through the official MCP inspector (needs npm)
	sh scripts/inspect.sh $(BIN)/rag-agent

format: $(DEV)  ## rewrite files as lint wants them
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .

lock: $(DEV)  ## write requirements/*.txt for what pyproject.toml asks for
	$(RUN) scripts/lock.py

upgrade: $(DEV)  ## the same with the newest versions
	$(RUN) scripts/lock.py --upgrade

build: $(DEV)  ## wheel and source archive in dist/
	rm -rf dist
	$(RUN) -m hatchling build

bench: $(DEV)  ## run the benchmarks; FOLDER=... to index: that of search, too; MODEL=FOLDER of scripts/build_model.py --per-tensor: that of embedding
	$(RUN) benchmarks/startup.py
	$(RUN) benchmarks/hook.py
	$(if $(FOLDER),$(RUN) benchmarks/search.py "$(FOLDER)")
	$(if $(MODEL),$(RUN) benchmarks/embedding.py --model "$(MODEL)")

eval: $(DEV)  ## measure search: TOPICS=queries.jsonl ROOTS=_roots.json WORK=FOLDER, into benchmarks/quality.md
	@test -n "$(TOPICS)" -a -n "$(ROOTS)" || { echo 'usage: make eval TOPICS=FILE ROOTS=FILE' >&2; exit 2; }
	$(RUN) scripts/evaluate.py "$(TOPICS)" "$(ROOTS)" --work "$(WORK)" --report "$(REPORT)" $(EVAL_ARGS)

clean:  ## remove what the targets above made, but for indexes
	rm -rf $(VENV) .hosts dist build htmlcov .coverage .coverage.* .pytest_cache .mypy_cache \
		.ruff_cache .import_linter_cache .hypothesis

# A missing or new interpreter, or a new pin, installs again; otherwise the stamp makes the next
# run immediate.
$(RUNTIME): requirements/runtime.txt pyproject.toml scripts/setup.sh $(RUN)
	@sh scripts/setup.sh runtime
	@touch $@

$(DEV): requirements/dev.txt pyproject.toml scripts/setup.sh $(RUN)
	@sh scripts/setup.sh dev
	@touch $@ $(RUNTIME)

$(RUN):
