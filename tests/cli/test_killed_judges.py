"""kill -9 at the write points of a run of 20 cases with two judges: only calls that were under way are repeated."""

import json
import random
from collections import Counter

import pytest

from evalmark.testing.scripted import ScriptedServer

from .killing import CASES, HOWS, JOBS, attempts, verdict, write_suite

pytestmark = pytest.mark.slow

JUDGES = ["openai/one", "openai/two"]
CALLS = CASES * len(JUDGES)


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(verdict, latency=0.005) as server:
        yield server


@pytest.fixture(scope="module")
def attempt(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    write_suite(folder, metrics=["factuality"], judge=JUDGES)
    told = len(server.requests)

    def between():
        nonlocal told
        new, told = server.requests[told:], len(server.requests)
        sent = Counter((said.model, said.messages) for said in new)
        return {"sent": sent.total(), "different": len(sent)}

    return lambda how, points: attempts("killed_runs", folder, how, points, between, OPENAI_BASE_URL=f"{server.url}/v1")


@pytest.fixture(scope="module")
def whole(attempt):
    """The same run, never killed."""
    (found,) = attempt("before", ["none"])
    assert (found["first"], found["kept"], found["sent"], found["different"]) == (0, CASES, CALLS, CALLS)
    assert (found["calls"], found["notes"]) == (CALLS, [])
    return found


def announced(notes):
    """How many calls the resumed run says it sends again."""
    return sum(int(note.split()[0]) for note in notes if "in flight when the run was interrupted" in note)


def results(found):
    """Every result of the export, without the header, whose notes tell of the kill."""
    return [line for line in found["export"].splitlines() if json.loads(line)["kind"] == "result"]


def check(attempts, whole):
    for found in attempts:
        assert found["first"] == -9, found
        assert found["second"] == 0, found
        assert results(found) == results(whole), found["point"]
        assert found["different"] == CALLS
        repeated = found["sent"] - CALLS
        assert repeated <= announced(found["notes"]) <= JOBS, found
        assert found["calls"] == CALLS, "what was paid and kept is counted once"


@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_some_writes_repeats_only_calls_under_way_and_says_how_many(attempt, whole, how):
    points = random.Random(f"judged {how}").sample(range(1, whole["changes"] + 1), 2)  # noqa: S311  seeded
    check(attempt(how, points), whole)


@pytest.mark.sweep
@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_every_write_repeats_only_calls_under_way_and_says_how_many(attempt, whole, how):
    # Every write is met, each in one of the three ways: all three of each would take half an hour.
    check(attempt(how, range(1 + HOWS.index(how), whole["changes"] + 1, len(HOWS))), whole)
