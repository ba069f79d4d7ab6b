"""Killed at any write: no acknowledged call is asked again, and none that was sent and lost goes uncounted."""

import random
from pathlib import Path

import pytest

from evalmark.store import open_store
from tests.storage.store.conftest import doomed  # noqa: F401  a fixture

from .calls import COUNT, call, key, tool_call
from .conftest import RUN, find

pytestmark = pytest.mark.slow

SAMPLE = 36
HOWS = ["before", "torn", "after"]


@pytest.fixture(scope="module")
def changes(doomed, tmp_path_factory) -> int:  # noqa: F811
    """How many changes a whole run makes to files: about so many, since how calls gather differs from run to run."""
    told = doomed.do("ask", tmp_path_factory.mktemp("counted"))
    assert told["finished"], told
    return told["changes"]


def file_in(folder: Path) -> Path:
    return folder / ".evalmark" / "evalmark.db"


def recorded(folder: Path) -> tuple[set[int], int]:
    """Which calls are found, and how many requests are known to be lost, in a store that must be sound."""
    if not file_in(folder).exists():
        return set(), 0
    with open_store(file_in(folder), read_only=True) as store:
        assert store.check().problems == ()
        found = {number for number in range(COUNT) if find(store, key(number)) is not None}
        assert all(find(store, key(number)) == call(number).replayed for number in found)
        return found, store.interrupted_calls(RUN) if store.runs() else 0


def assert_whole(folder: Path, repeated: int) -> None:
    """Every call is there, paid for once, and the totals are those of a run that nothing broke off."""
    assert recorded(folder) == (set(range(COUNT)), 0)
    with open_store(file_in(folder), read_only=True) as store:
        (spent,) = store.spending(RUN)
        assert (spent.calls, spent.input_tokens, spent.output_tokens) == (COUNT, 10 * COUNT, sum(range(COUNT)))
        assert (spent.cost, spent.failed, spent.repeated) == (0.25 * COUNT, 0, repeated)


def kill_and_resume(doomed, folder: Path, at: int, how: str) -> bool:  # noqa: F811
    """Whether the process was killed; one that wrote less often than others had ended before."""
    told = doomed.do("ask", folder, at, how)
    if not told["killed"]:
        assert told["finished"], told
        assert_whole(folder, repeated=0)
        return False
    found, lost = recorded(folder)
    assert set(told["acknowledged"]) <= found
    assert len(set(told["sent"]) - found) <= lost <= COUNT - len(found)
    again = doomed.do("ask", folder)
    assert again["finished"], again
    assert again.get("interrupted", 0) == lost
    assert found.isdisjoint(again["sent"]), "a call that was recorded was paid for again"
    assert_whole(folder, repeated=lost)
    return True


@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_some_writes_loses_no_call(doomed, changes, tmp_path, how):  # noqa: F811
    killed = 0
    for at in random.Random(how).sample(range(1, changes + 1), SAMPLE // 3):  # noqa: S311
        (folder := tmp_path / str(at)).mkdir()
        killed += kill_and_resume(doomed, folder, at, how)
    assert killed > SAMPLE // 6


@pytest.mark.sweep
@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_every_write_loses_no_call(doomed, changes, tmp_path, how):  # noqa: F811
    at, killed = 0, True
    while killed:
        at += 1
        (folder := tmp_path / str(at)).mkdir()
        killed = kill_and_resume(doomed, folder, at, how)
    assert at > changes / 2


def test_a_call_is_on_the_disk_before_it_is_acknowledged_many_share_a_sync_and_a_note_needs_none(doomed, tmp_path):  # noqa: F811
    """A kill cannot show this: what a dead process has written is kept by the system, unlike after a power cut."""
    told = doomed.do("count_syncs_of_calls", tmp_path)
    assert told["error"] is None
    note, call_, second_note, many, result = told["syncs"]
    assert (note, second_note) == (0, 0)
    assert call_ >= 1
    assert result >= 1, "after a note, commits wait for the disk again"
    assert 1 <= many <= 20


@pytest.mark.parametrize("seed", range(3))
def test_five_kills_in_a_row_lose_no_call_and_count_every_lost_request_once(doomed, tmp_path, seed):  # noqa: F811
    choose = random.Random(seed)  # noqa: S311
    acknowledged: list[int] = []
    repeated = 0
    for _ in range(5):
        told = doomed.do("ask", tmp_path, choose.randint(10, 50), choose.choice(HOWS))
        acknowledged += told["acknowledged"]
        found, lost = recorded(tmp_path)
        assert set(acknowledged) <= found
        assert len(set(told["sent"]) - found) <= lost
        repeated += lost
    assert len(acknowledged) == len(set(acknowledged)), "an acknowledged call was paid for again"
    if not told["finished"]:
        assert doomed.do("ask", tmp_path)["finished"]
    assert_whole(tmp_path, repeated)


def fill_up(doomed, folder: Path, at: int) -> None:  # noqa: F811
    """Fill the disk at a write, and check that the run says so, keeps what was acknowledged, and can go on."""
    told = doomed.do("ask", folder, at, "full")
    assert not told["killed"]
    assert told["finished"] or told["error"].startswith("StoreFullError"), told
    found, lost = recorded(folder)
    assert set(told["acknowledged"]) <= found
    assert len(set(told["sent"]) - found) <= lost
    again = doomed.do("ask", folder)
    assert again["finished"]
    assert set(told["acknowledged"]).isdisjoint(again["sent"])
    assert recorded(folder)[0] == set(range(COUNT))


@pytest.mark.parametrize("at", [30, 45, 60])
def test_a_disk_that_fills_up_keeps_the_calls_that_were_acknowledged(doomed, tmp_path, at):  # noqa: F811
    fill_up(doomed, tmp_path, at)


@pytest.mark.sweep
def test_a_disk_that_is_full_at_any_write_keeps_the_calls_that_were_acknowledged(doomed, changes, tmp_path):  # noqa: F811
    for at in range(1, changes + 1):
        (folder := tmp_path / str(at)).mkdir()
        fill_up(doomed, folder, at)


# What tools gave.


def tools_in(folder: Path) -> set[int]:
    """Which calls of tools are found in a store that must be sound."""
    if not file_in(folder).exists():
        return set()
    with open_store(file_in(folder), read_only=True) as store:
        assert store.check().problems == ()
        journal = store.tool_log()
        found = {number: journal.find(tool_call(number).key) for number in range(COUNT)}
    assert all(kept in (None, tool_call(number)) for number, kept in found.items())
    return {number for number, kept in found.items() if kept is not None}


def kill_and_call_again(doomed, folder: Path, at: int, how: str) -> bool:  # noqa: F811
    """Whether the process was killed; no tool whose result was acknowledged is called again."""
    told = doomed.do("call_tools", folder, at, how)
    found = tools_in(folder)
    assert set(told["acknowledged"]) <= found <= set(told["sent"])
    if told["killed"]:
        again = doomed.do("call_tools", folder)
        assert again["finished"], again
        assert found.isdisjoint(again["sent"]), "a tool was called again though its result was recorded"
    assert tools_in(folder) == set(range(COUNT))
    return told["killed"]


@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_some_writes_loses_no_result_of_a_tool(doomed, tmp_path, how):  # noqa: F811
    (tmp_path / "whole").mkdir()
    changes = doomed.do("call_tools", tmp_path / "whole")["changes"]
    killed = 0
    for at in random.Random(how).sample(range(1, changes + 1), SAMPLE // 6):  # noqa: S311
        (folder := tmp_path / str(at)).mkdir()
        killed += kill_and_call_again(doomed, folder, at, how)
    assert killed > SAMPLE // 12


@pytest.mark.sweep
@pytest.mark.parametrize("how", HOWS)
def test_a_kill_at_every_write_loses_no_result_of_a_tool(doomed, tmp_path, how):  # noqa: F811
    at, killed = 0, True
    while killed:
        at += 1
        (folder := tmp_path / str(at)).mkdir()
        killed = kill_and_call_again(doomed, folder, at, how)
    assert at > COUNT


def test_a_disk_that_fills_up_keeps_the_results_of_tools_that_were_acknowledged(doomed, tmp_path):  # noqa: F811
    told = doomed.do("call_tools", tmp_path, 45, "full")
    assert not told["killed"]
    assert told["error"].startswith("StoreFullError"), told
    assert set(told["acknowledged"]) <= tools_in(tmp_path)
    assert doomed.do("call_tools", tmp_path)["finished"]
    assert tools_in(tmp_path) == set(range(COUNT))
