"""The examples as their READMEs tell them, with the real embedding model."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalmark.core.settings import Settings
from evalmark.errors import ModelError
from evalmark.models.embeddings.model_cache import fetch_model
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
UNDECIDED = 3


@pytest.fixture(scope="module", autouse=True)
def weights() -> Path:
    """all-MiniLM-L6-v2; where it can be had from nowhere, nothing here can be said."""
    try:
        return fetch_model("all-MiniLM-L6-v2", Settings())
    except ModelError as error:
        pytest.skip(f"the weights of all-MiniLM-L6-v2 are not to be had here: {error}")


def evalmark(world: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code of a command and the run it reported."""
    out = world / "out.json"
    command = [sys.executable, "-m", "evalmark", *words, "-q", "-o", str(out)]
    done = subprocess.run(command, cwd=world, capture_output=True, text=True, check=False)
    assert out.exists(), done.stderr
    return done.returncode, json.loads(out.read_text(encoding="utf-8"))


def failed(run: dict[str, Any]) -> set[str]:
    return {
        result["case"]["id"] for result in run["results"] if any(score["passed"] is False for score in result["scores"])
    }


def test_the_bot_passes_and_only_its_known_weaknesses_fail(world):
    code, run = evalmark(world, "run", str(EXAMPLES / "similarity/suite.yaml"))
    assert code == 0
    assert failed(run) == {"weak-number-in-words", "weak-two-wishes"}


def test_the_change_fails_the_gate(world):
    code, run = evalmark(world, "run", str(EXAMPLES / "similarity/suite-v2.yaml"))
    assert code == 1
    assert len(failed(run)) > len(run["results"]) / 2


@pytest.mark.parametrize("suite", ["checks/suite.yaml", "checks/orders.yaml"])
def test_the_plain_checks_pass(world, suite):
    code, run = evalmark(world, "run", str(EXAMPLES / suite))
    assert code == 0
    assert failed(run) == set()


def test_every_question_can_be_scored(world):
    code, run = evalmark(world, "rag", "--dataset", str(EXAMPLES / "rag/questions.json"))
    assert code == 0
    assert {score["status"] for result in run["results"] for score in result["scores"]} == {"scored"}


def test_the_awkward_rows_leave_the_verdict_open(world):
    code, run = evalmark(world, "rag", "--dataset", str(EXAMPLES / "rag/awkward.json"))
    assert code == UNDECIDED
    open_ones = {r["case"]["id"] for r in run["results"] if any(s["status"] == "unscored" for s in r["scores"])}
    assert {"empty-answer", "no-contexts-key", "punctuation-only"} <= open_ones
    assert "one-long-sentence" not in open_ones


def test_the_table_in_the_readme_is_what_the_command_prints(world):
    command = [sys.executable, str(EXAMPLES / "rag/by_kind.py")]
    done = subprocess.run(command, cwd=world, capture_output=True, text=True, check=True)
    assert done.stdout.strip() in (EXAMPLES / "rag/README.md").read_text(encoding="utf-8")
