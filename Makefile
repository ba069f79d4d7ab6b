# `make` runs all checks. Another Python: `make PYTHON=python3.13`.
PYTHON ?= .venv/bin/python

.PHONY: all check format lint types architecture test slow sweep integration bench pictures docs clean

all: check test slow

check: format lint types architecture

format: | $(PYTHON)
	$(PYTHON) -m ruff format --check .

lint: | $(PYTHON)
	$(PYTHON) -m ruff check .

types: | $(PYTHON)
	$(PYTHON) -m mypy

# Which package may import which: the contracts stand in pyproject.toml.
architecture: | $(PYTHON)
	$(PYTHON) -c "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"

# The tests as the README runs them.
test: | $(PYTHON)
	$(PYTHON) -m pytest -n auto

# The tests that need a browser, a database server or many processes; `make test` leaves them out, CI runs them after it.
slow: | $(PYTHON)
	$(PYTHON) -m pytest -n auto -m "slow and not sweep"

# The slow, exhaustive forms of some tests; and all others with examples that nobody has drawn before.
sweep: | $(PYTHON)
	$(PYTHON) -m pytest -n auto -m sweep --hypothesis-profile=new
	$(PYTHON) -m pytest -n auto --hypothesis-profile=new

# The tests that skip where their part is absent: other frameworks, the second runtime, the graph checker, statistics of others,
# a PostgreSQL server (apt-get install postgresql), clusters of Ray.
integration: | $(PYTHON)
	$(PYTHON) -m pip install -q dspy langchain langchain-classic langgraph onnx openai openai-agents opentelemetry-sdk openvino ppi-python 'pydantic-ai-slim[openai]' 'ray[client,data]'
	$(PYTHON) -m pytest -n auto tests/models/embeddings tests/models/providers tests/runs/targets tests/runs/transcripts tests/runs/tool_replay tests/runs/guardrails tests/interop/openai_evals tests/stats/inference tests/stats/agreement tests/harness/unit_tests tests/tracing/recorder tests/reports/viewer tests/reports/viewer/auth tests/storage/store tests/storage/queries tests/storage/results tests/storage/call_log tests/storage/sessions tests/cli/test_store_on_a_server.py tests/runs/cluster

# Every figure in README and docs/ comes from here; nothing else may run meanwhile.
bench: | $(PYTHON)
	$(PYTHON) benchmarks/run

# The pictures of README and docs/, from what the commands print and the viewer shows of the examples.
pictures: | $(PYTHON)
	$(PYTHON) docs/pictures/draw.py
	$(PYTHON) docs/pictures/screenshots.py

# The documentation site, with every link checked: open build/docs/site/docs/index.html. It needs no server.
docs: | $(PYTHON)
	$(PYTHON) -m pip install -q -e '.[docs]'
	$(PYTHON) docs/site/build.py

clean:
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/python:
	python3 -m venv .venv
	.venv/bin/python -m pip install -q -c constraints.txt -e '.[dev]'
