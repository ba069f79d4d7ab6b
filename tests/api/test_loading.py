"""What a run does not need it does not load: the start of a small run is most of it."""

import subprocess
import sys

PROGRAM = """
import asyncio, sys
from pathlib import Path
from evalmark.api import Conduct, execute, plan_suite
from evalmark.settings import Settings
from evalmark.store import open_store

settings = Settings(store="evalmark.db")
with open_store(settings.store) as store:
    plan = plan_suite(Path("suite.json"), settings)
    run = asyncio.run(execute(plan, Conduct(ledger=store, settings=settings)))
    assert len(run.results) == 1 and plan.embedder is None
heavy = {"jsonschema", "numpy", "onnxruntime", "scipy", "tokenizers"}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
"""


def test_a_run_that_compares_texts_loads_no_arrays(world):
    (world / "cases.jsonl").write_text('{"input": "2 + 2", "expected": "4", "answer": "4"}\n')
    (world / "suite.json").write_text('{"datasets": ["cases.jsonl"], "metrics": ["equals"]}')
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
