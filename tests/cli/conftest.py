"""A command line in the test's own process, and one in a process of its own."""

import subprocess
import sys
from dataclasses import dataclass

import pytest

from evalmark.cli import main
from tests.importing import own_imports


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
def evalmark(world, capsys):
    """Calls the command line; gives exit code and output. The working directory is an empty folder."""

    def call(*words) -> Said:
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Said(code=left.value.code or 0, out=out, err=err)

    with own_imports(world):
        yield call


@pytest.fixture
def process(world):
    """Starts the command line in a process of its own."""

    def start(*words, **more) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "evalmark", *map(str, words)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    return start
