"""kill -9 at the write points of a 20-case run: no result lost, none computed twice but those under way."""

import random

import pytest

from .killing import CASES, HOWS, attempts, write_suite

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def attempt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    write_suite(folder, metrics=["equals"])
    return lambda how, points: attempts("killed_runs", folder, how, points)


@pytest.fixture(scope="module")
def whole(attempt):
    """The same run, never killed."""
    (found,) = attempt("before", ["none"])
    assert (found["first"], found["kept"], found["asked_before"]) == (0, CASES, CASES)
    return found


def check(attempts, whole):
    for found in attempts:
        assert found["first"] == -9, found
        assert found["second"] == 0, found
        assert found["export"] == whole["export"], found["point"]
        assert found["asked"] <= found["asked_before"] + CASES - found["kept"], found
        assert found["asked"] >= CASES
        assert found["kept"] <= found["asked_before"]


@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_some_writes_of_a_run_loses_nothing(attempt, whole, how):
    points = random.Random(f"run {how}").sample(range(1, whole["changes"] + 1), 3)  # noqa: S311  seeded
    check(attempt(how, points), whole)


@pytest.mark.sweep
@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_every_write_of_a_run_loses_nothing(attempt, whole, how):
    check(attempt(how, range(1, whole["changes"] + 1)), whole)
