# make demo, make test, make check: all set up what they need on their first call.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Tests of plain data and pure functions. One that starts a process or a screen is marked `process`.
PURE := $(addprefix tests/,stats fold parsers tools config rubrics runs) \
	$(addprefix tests/test_,architecture_page.py data_types.py error_classes.py \
	error_tree.py exit_codes.py import_circles.py messages.py messages_as_dicts.py \
	model_names.py names.py printable.py prose.py public_names.py rollout_data.py sizes.py token_kinds.py)

.PHONY: demo test check slow lint bench screenshots api clean

demo: $(VENV)/.app
	@$(BIN)/tui-eval demo

test: $(VENV)/.dev
	@$(BIN)/pytest -q

check: $(VENV)/.dev
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo > $(VENV)/contracts.txt || (cat $(VENV)/contracts.txt; exit 1)
	@$(BIN)/pytest -q -n 2 --pure $(PURE)

slow: $(VENV)/.dev
	@$(BIN)/pytest -q --slow -o norecursedirs='.*' -n 3 --dist loadgroup --timeout 1200

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	@$(BIN)/python -m bench

screenshots: $(VENV)/.dev
	@$(BIN)/python tests/make_screenshots.py

api: $(VENV)/.dev
	@$(BIN)/python tests/make_api_page.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache

define SET_UP
	@if command -v uv >/dev/null 2>&1; then \
		uv sync --quiet --inexact $(1); \
	else \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 $@")' && \
		{ [ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV); } && \
		$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1" && \
		$(BIN)/python -m pip install --quiet --editable . $(2); \
	fi
	@touch $@
endef

$(VENV)/.app: pyproject.toml uv.lock
	$(call SET_UP,--no-dev,)

$(VENV)/.dev: pyproject.toml uv.lock
	$(call SET_UP,,--group dev)
