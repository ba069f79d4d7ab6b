"""A kill at any moment costs at most the calls that were under way, and what was handed on is never asked again."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from evalmark.testing.scripted import ScriptedServer
from tests.conftest import ROOT

from .killed_child import AT_ONCE, QUESTIONS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed like that here"),
]


def start(path, server) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.models.middleware.killed_child", str(path), server.url]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kill_when(server, child, requests) -> bool:
    """Kill the process once the server has had so many requests in all; False when it ended before."""
    while server.count < requests:
        if child.poll() is not None:
            return False
        time.sleep(0.001)
    child.kill()
    return True


def passes(path, server, moments) -> list[tuple[int, dict[str, str]]]:
    """What each pass said it would repeat, and what it handed on; the last one runs to its end."""
    known: Counter[str] = Counter()
    said = []
    for moment in [*moments, None]:
        child = start(path, server)
        if moment is not None:
            kill_when(server, child, server.count + moment)
        out, error = child.communicate(timeout=60)
        assert child.returncode in (0, -signal.SIGKILL), error
        first, *lines = out.splitlines()
        asked = Counter(request.text for request in server.requests)
        assert all(asked[number] == known[number] for _, handed_on in said for number in handed_on)
        known = asked
        said.append((int(first.split()[1]), dict(line.split(" ", 1) for line in lines if " " in line)))
    return said


def held(path, moments) -> None:
    with ScriptedServer(lambda said: f"reply to {said.text}", latency=0.02) as server:
        said = passes(path, server, moments)
        asked = Counter(request.text for request in server.requests)
    assert said[0][0] == 0
    assert all(repeats <= AT_ONCE for repeats, _ in said)
    assert server.count - QUESTIONS <= sum(repeats for repeats, _ in said)
    assert said[-1][1] == {str(number): f"reply to {number}" for number in range(QUESTIONS)}
    assert set(asked) == set(said[-1][1])


def test_a_run_that_is_killed_again_and_again_pays_for_nothing_twice_but_what_was_under_way(tmp_path):
    held(tmp_path / "evalmark.db", [1, 17, 9])


@pytest.mark.sweep
def test_killed_at_many_moments(tmp_path):
    draw = random.Random(9)  # noqa: S311
    for number in range(60):
        held(tmp_path / f"{number}.db", [draw.randint(1, QUESTIONS) for _ in range(draw.randint(1, 4))])
