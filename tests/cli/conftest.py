"""A command line in the test's own process, and one in a process of its own."""

import subprocess
import sys
from dataclasses import dataclass

import pytest

from evalmark.cli import main


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


@pytest.fixture(autouse=True)
def width(monkeypatch):
    """The terminal of whoever runs the tests may be narrow; what is printed breaks its lines there."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def evalmark(world, capsys, monkeypatch):
    """Calls the command line; gives exit code and output. The working directory is an empty folder."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)

    def call(*words) -> Said:
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Said(code=left.value.code or 0, out=out, err=err)

    yield call
    for name in set(sys.modules) - before:  # targets of one test are not those of the next
        if getattr(sys.modules[name], "__file__", "") and str(world) in str(sys.modules[name].__file__):
            del sys.modules[name]


@pytest.fixture
def process(world):
    """Starts the command line in a process of its own."""

    def start(*words, **more) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "evalmark", *map(str, words)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    return start
