"""A pytest run of its own, in a folder of its own, over files written as users write them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

import pytest

from evalmark import Result, Run
from evalmark.store import open_store

TELLING = """
import json, os

def pytest_terminal_summary(terminalreporter):
    told = {
        category: [
            {"id": r.nodeid, "text": str(getattr(r, "longrepr", "")), "properties": getattr(r, "user_properties", [])}
            for r in reports
            if hasattr(r, "nodeid")
        ]
        for category, reports in terminalreporter.stats.items()
        if category and category not in ("warnings", "deselected")
    }
    with open(os.environ["TOLD"], "w") as file:
        json.dump(told, file)
"""
"""Writes down what the inner pytest counts, under the words by which it counts."""
SECONDS = 60
"""What an inner run gets; it takes about two."""


@dataclass(frozen=True)
class Ended:
    """How an inner pytest ended."""

    code: int
    text: str
    """What it printed, standard error included."""
    folder: Path
    told: Mapping[str, list[dict]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many tests ended how, in pytest's own words."""
        return {category: len(reports) for category, reports in self.told.items()}

    @property
    def words(self) -> dict[str, str]:
        """Each test's word."""
        return {report["id"]: category for category, reports in self.told.items() for report in reports}

    @property
    def why(self) -> dict[str, str]:
        """What is said of each test, by its id without the file."""
        return {report["id"].partition("::")[2]: report["text"] for reports in self.told.values() for report in reports}

    @property
    def properties(self) -> dict[str, dict]:
        """The properties of each test, by its id without the file."""
        return {
            report["id"].partition("::")[2]: dict(report["properties"])
            for reports in self.told.values()
            for report in reports
        }

    @property
    def store(self) -> Path:
        """Where the runs are kept unless a test says otherwise."""
        return self.folder / ".evalmark" / "evalmark.db"

    def run(self, reference: str = "last") -> Run:
        """The run in the store."""
        return run_of(self.store, reference)

    def results(self, dataset: str = "") -> dict[str, Result]:
        """The results of a dataset, or of all, by the ids of their cases."""
        return {r.trial.case.id: r for r in self.run().results if dataset in ("", r.trial.dataset)}


def run_of(store: Path, reference: str = "last") -> Run:
    with open_store(store, read_only=True) as opened:
        run = opened.run(reference)
        return Run(
            **{name: getattr(run, name) for name in run.__slots__ if name != "results"}, results=tuple(run.results)
        )


class Suite:
    """A folder with tests, and a pytest for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "suite"
        self.folder.mkdir()
        self._aside = folder / "aside"
        self._aside.mkdir()
        (self._aside / "telling.py").write_text(TELLING, encoding="utf-8")
        self.write("pytest.ini", "[pytest]\n")

    def write(self, name: str, text: str) -> Path:
        """Put a file into the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        """A pytest that is running."""
        return self.start_python("-m", "pytest", "-p", "telling", *words, **env)

    def start_python(self, *words: str, **env: str) -> subprocess.Popen[str]:
        """A Python that is running."""
        (self._aside / "told.json").unlink(missing_ok=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("EVALMARK_", "PYTEST_"))}
        path = os.pathsep.join(filter(None, (str(self._aside), kept.get("PYTHONPATH"))))
        ours = {"PYTHONPATH": path, "TOLD": str(self._aside / "told.json"), "COLUMNS": "120"}
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=self.folder,
            env={**kept, **ours, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def end(self, process: subprocess.Popen[str], before: str = "") -> Ended:
        """How a pytest that was started ends; `before` is what was read of it already."""
        try:
            text = before + process.communicate(timeout=SECONDS)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            pytest.fail(f"it hangs: {process.communicate()[0]}")
        print(text)  # noqa: T201  pytest shows it where a test fails
        told = self._aside / "told.json"
        known = json.loads(told.read_text(encoding="utf-8")) if told.exists() else {}
        return Ended(code=process.returncode, text=text, folder=self.folder, told=known)

    def run(self, *words: str, **env: str) -> Ended:
        """How a pytest with evals ends."""
        return self.end(self.start("--evalmark", *words, **env))

    def plain(self, *words: str, **env: str) -> Ended:
        """How a pytest without evals ends."""
        return self.end(self.start(*words, **env))


@pytest.fixture
def suite(tmp_path) -> Suite:
    """An empty folder with a pytest for it."""
    return Suite(tmp_path)


@pytest.fixture(scope="module")
def suites(tmp_path_factory) -> Callable[[], Suite]:
    """For runs that serve many tests."""
    return lambda: Suite(tmp_path_factory.mktemp("suite"))


def lines(ended: Ended, start: str) -> list[str]:
    """The lines of the output that start with a text, without what stands around them."""
    return [line.strip() for line in ended.text.splitlines() if line.strip().startswith(start)]
