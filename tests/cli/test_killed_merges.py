"""kill -9 and a full disk at the write points of a merge: the whole is there, or nothing of it."""

import os
import random
import subprocess
import sys

import pytest

from evalmark.testing.scripted import ScriptedServer

from . import killing
from .killing import CASES, HOWS, verdict, write_suite

pytestmark = pytest.mark.slow

WHOLE = [["complete", CASES, CASES]]
"""One run with all results, and as many calls."""


@pytest.fixture(scope="module")
def attempts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    write_suite(folder, metrics=["factuality"], judge="openai/one")
    with ScriptedServer(verdict) as server:
        own = {**os.environ, "OPENAI_BASE_URL": f"{server.url}/v1"}
        for number in (1, 2):
            words = ["run", "suite.json", "--shard", f"{number}/2", "--store", f"shard-{number}.db", "-q"]
            command = [sys.executable, "-m", "evalmark", *words]
            subprocess.run(command, cwd=folder, env=own, check=True, capture_output=True)

    return lambda how, points: killing.attempts("killed_merge", folder, how, points)


@pytest.fixture(scope="module")
def whole(attempts):
    """The same merge, never killed."""
    (found,) = attempts("before", ["none"])
    assert (found["first"], found["after_first"], found["after_second"]) == (0, WHOLE, WHOLE)
    assert "were merged before" not in found["said"]
    return found


def points(whole, how, number):
    return random.Random(f"merge {how}").sample(range(1, whole["changes"] + 1), number)  # noqa: S311  seeded


def check(found, whole, first):
    assert found["first"] == first, found
    assert found["after_first"] in ([], WHOLE), found["point"]
    assert (found["second"], found["after_second"]) == (0, WHOLE), found
    assert found["export"] == whole["export"]


@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_some_writes_of_a_merge_leaves_all_of_it_or_nothing(attempts, whole, how):
    for found in attempts(how, points(whole, how, 2)):
        check(found, whole, -9)


@pytest.mark.sweep
@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_every_write_of_a_merge_leaves_all_of_it_or_nothing(attempts, whole, how):
    found = attempts(how, range(1, whole["changes"] + 1))
    for one in found:
        check(one, whole, -9)
    assert {len(one["after_first"]) for one in found} == {0, 1}


def test_a_disk_that_fills_up_keeps_nothing_of_the_whole_and_is_named(attempts, whole):
    for found in attempts("full", points(whole, "full", 3)):
        if found["first"] == 0:  # the last writes only tidy up
            assert found["after_first"] == WHOLE
            continue
        check(found, whole, 2)
        assert "merged.db" in found["said"], found
        assert "shard-" not in found["said"], found
