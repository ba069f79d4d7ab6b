"""What a run does not need it does not load: the start of a small run is most of it."""

import json
import os
import subprocess
import sys

import pytest

from evalmark.testing.scripted import ScriptedServer

PROGRAM = """
import asyncio, sys
from pathlib import Path
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.planning.suite import plan_suite
from evalmark.core.settings import Settings
from evalmark.store import open_store

settings = Settings(store="evalmark.db")
with open_store(settings.store) as store:
    plan = plan_suite(Path("suite.json"), settings)
    run = asyncio.run(execute(plan, RunOptions(store=store, settings=settings)))
    assert len(run.results) == 1 and plan.embedder is None
heavy = {"aiohttp", "jinja2", "jsonschema", "numpy", "onnxruntime", "pydantic", "regex", "rich", "scipy", "tokenizers", "yaml"}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
"""
ONLY_WHERE_NEEDED = {
    "evalmark.models.embeddings.load",
    "evalmark.models.middleware.throttle",
    "evalmark.models.providers.endpoint",
    "evalmark.core.values.label",
    "evalmark.inputs.datasets.case_filter",
    "evalmark.runs.engine.tracebacks",
    "evalmark.runs.execution.sequential_stop",
    "evalmark.runs.transcripts.frameworks",
    "evalmark.stats.agreement.kappa_alpha",
    "evalmark.stats.comparison.change",
    "evalmark.storage.queries.search",
    "evalmark.storage.store.health",
    "evalmark.storage.store.merge",
    "evalmark.storage.store.recordings",
}
"""Modules for embeddings, models, agents, several judges, a baseline, `--until-decided` and other verbs."""


def test_a_run_that_compares_texts_loads_no_arrays(world):
    (world / "cases.jsonl").write_text('{"input": "2 + 2", "expected": "4", "answer": "4"}\n')
    (world / "suite.json").write_text('{"datasets": ["cases.jsonl"], "metrics": ["equals"]}')
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


COMMAND = """
import sys
from evalmark.cli import main

try:
    main(sys.argv[1:])
except SystemExit as left:
    assert left.code in (0, 1), left.code
print(*sorted(sys.modules), sep="\\n", file=sys.stderr)
"""
NEVER = {
    *("aiohttp", "genai_prices", "jsonschema", "onnxruntime", "pydantic", "regex", "scipy", "tokenizers"),
    *("csv", "importlib.metadata", "sysconfig"),
    *(
        "evalmark.models.providers.anthropic",
        "evalmark.models.providers.pydantic_ai",
        "evalmark.models.providers.gemini",
    ),
    *(
        "evalmark.cli.commands.cache",
        "evalmark.cli.commands.doctor",
        "evalmark.cli.commands.plan",
        "evalmark.cli.commands.rag",
        "evalmark.cli.commands.runs",
    ),
}
WANTS = [
    pytest.param("equals", {"importlib.resources", "numpy", "yaml", "evalmark.scoring.judges.rubric"}, id="a check"),
    pytest.param({"contains": {"any": ["Oslo"], "ignore_case": True}}, {"numpy", "yaml"}, id="a check with settings"),
    pytest.param("factuality", set(), id="a judge"),  # numpy computes the interval of graded scores
]


@pytest.mark.parametrize(("metric", "spared"), WANTS)
def test_a_run_that_asks_a_model_loads_no_more_than_it_needs_for_that(world, metric, spared):
    (world / "cases.jsonl").write_text('{"input": "Oslo", "expected": "Oslo"}\n')
    suite = {"datasets": ["cases.jsonl"], "target": {"model": "openai/m"}, "metrics": [metric]}
    (world / "suite.json").write_text(json.dumps(suite))
    words = ["run", "suite.json", "--judge", "openai/judge", "-j", "4", "-q", "--store", "evalmark.db"]
    with ScriptedServer() as server:
        own = {**os.environ, "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "none"}
        line = [sys.executable, "-c", COMMAND, *words]
        done = subprocess.run(line, env=own, capture_output=True, text=True, check=False)
        assert server.requests
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.split("\n"))
    assert "httptools" in loaded
    # From Python 3.14 on, ctypes loads sysconfig, and numpy loads ctypes.
    needless = (NEVER | spared) - ({"sysconfig"} if sys.version_info >= (3, 14) and "numpy" not in spared else set())
    assert not needless & loaded, sorted(needless & loaded)


def _loaded(*words: str) -> set[str]:
    """Return the modules that a command loads."""
    command = [sys.executable, "-c", COMMAND, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "120"})
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_a_run_of_a_python_function_loads_only_what_it_needs(world):
    (world / "app.py").write_text("def echo(text):\n    return text\n")
    (world / "cases.jsonl").write_text('{"input": "Oslo", "expected": "Oslo"}\n')
    (world / "suite.yaml").write_text("datasets: [cases.jsonl]\ntarget: app:echo\nmetrics: [equals]\n")
    loaded = _loaded("run", "suite.yaml", "--store", "evalmark.db")
    assert "evalmark.runs.engine.pipeline" in loaded
    spared = NEVER | ONLY_WHERE_NEEDED | {"numpy"}
    assert not loaded & spared, sorted(loaded & spared)


@pytest.mark.parametrize("verb", ["run", "compare", "list", "validate"])
def test_the_help_of_a_verb_loads_only_its_flags(verb):
    loaded = _loaded(verb, "--help")
    assert "evalmark.cli.commands.flags" in loaded
    heavy = {"apsw", "asyncio", "pydantic", "rich", "statistics"} | {"evalmark.core.values.run"}
    assert not loaded & heavy, sorted(loaded & heavy)


def test_help_loads_no_values_and_no_figures(world):
    loaded = _loaded("--help")
    assert "evalmark.cli.commands.app" in loaded
    assert "evalmark.cli.commands.report" not in loaded
    assert not loaded & {
        "evalmark.core.values.case",
        "evalmark.core.values.run",
        "evalmark.stats.summary.summary",
        "statistics",
        "asyncio",
    }
