.POSIX:
VENV = .venv
PY = $(VENV)/bin/python

$(VENV)/ok: pyproject.toml
	python3 -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev,plots]'
	touch $@

demo: $(VENV)/ok
	$(VENV)/bin/dpsql demo

check: $(VENV)/ok
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

test: $(VENV)/ok
	$(PY) -m pytest

test-all: $(VENV)/ok
	$(PY) -m pytest -m ''

bench: $(VENV)/ok
	$(PY) -m benchmarks

.PHONY: demo check test test-all bench
