"""examples/unit_tests: the script and the test of pytest, as its README says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evalmark.core.settings import Settings
from evalmark.errors import ModelError
from evalmark.models.embeddings.model_cache import fetch_model
from evalmark.store import open_store
from tests.conftest import ROOT

pytestmark = pytest.mark.slow

FOLDER = ROOT / "examples" / "unit_tests"


@pytest.fixture(scope="module", autouse=True)
def weights() -> Path:
    """all-MiniLM-L6-v2; where it can be had from nowhere, nothing here can be said."""
    try:
        return fetch_model("all-MiniLM-L6-v2", Settings())
    except ModelError as error:
        pytest.skip(f"the weights of all-MiniLM-L6-v2 are not to be had here: {error}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example in a folder of its own."""
    kept = tmp_path / "unit_tests"
    shutil.copytree(FOLDER, kept, ignore=shutil.ignore_patterns("__pycache__", ".evalmark", ".pytest_cache"))
    return kept


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("EVALMARK_", "PYTEST_"))}
    env = {**kept, "EVALMARK_OFFLINE": "1", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)


def test_the_desk_passes_and_its_change_fails(folder):
    passed, failed = call(folder, "check.py"), call(folder, "check.py", "--changed")
    assert passed.returncode == 0, passed.stderr
    assert "4 processed, 4 passed, 0 failed" in passed.stdout
    assert failed.returncode == 1
    assert "unit test 'help desk': 2 of 4 cases did not pass." in failed.stderr
    assert [line.split()[0] for line in failed.stderr.splitlines() if ".jsonl:" in line] == ["refund", "flat"]
    with open_store(folder / ".evalmark" / "evalmark.db", read_only=True) as store:
        assert [(run.name, run.target) for run in store.runs()] == [
            ("help desk", "desk:changed_answer"),
            ("help desk", "desk:answer"),
        ]


def test_pytest_runs_it_as_a_test(folder):
    ran = call(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout
