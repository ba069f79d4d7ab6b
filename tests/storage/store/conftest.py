import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evalmark.store import Store, open_store

from . import sample
from .places import everywhere

pytest_generate_tests = everywhere


@pytest.fixture
def path(request, tmp_path: Path):
    """A place for a store: a file, and for modules that hold `EVERYWHERE` a server as well."""
    if getattr(request, "param", "in a file") == "in a file":
        return tmp_path / ".evalmark" / "evalmark.db"
    return request.getfixturevalue("on_a_server")


@pytest.fixture
def store(path) -> Iterator[Store]:
    with open_store(path) as opened:
        yield opened


@pytest.fixture
def finished(store: Store):
    """A complete run of five cases."""
    run = sample.run()
    record(store, run, sample.trials([sample.case(n) for n in range(5)]))
    return store.run(run.id)


def save(store: Store, run_id: str, trials) -> None:
    asyncio.run(store.sink(run_id).write([sample.answered(trial) for trial in trials]))


def record(store: Store, run, trials, status: str = "complete") -> None:
    store.start(run)
    save(store, run.id, trials)
    store.finish(replace(run, status=status))


def go_on(store: Store, run_id: str, trials, status: str = "complete") -> list[str]:
    """Resume a run over these trials; the ids of those that had to be computed."""
    run = store.resume(run_id)
    recorded = store.recorded(run_id)
    todo = [trial for trial in trials if not recorded(trial)]
    save(store, run_id, todo)
    store.finish(replace(run, status=status))
    return [trial.case.id for trial in todo]


class Doomed:
    """A process that forks a child for each job and tells how the child ended."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("crash_child.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def do(self, job: str, folder: Path, at: int | None = None, how: str = "before") -> dict:
        order = {"job": job, "folder": str(folder), "at": at, "how": how}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def doomed() -> Iterator[Doomed]:
    rig = Doomed()
    yield rig
    rig.close()
