"""A full disk: what was acknowledged is kept, the store stays sound, and the run goes on once there is room."""

import asyncio
from dataclasses import replace

import pytest

from evalmark import Output
from evalmark.errors import StoreFullError
from evalmark.store import open_store

from . import sample
from .conftest import go_on

TRIALS = sample.trials([sample.case(n) for n in range(30)])
LARGE = {trial.case.id: replace(sample.answered(trial), output=Output(value="words " * 1_000)) for trial in TRIALS}


def write_until_full(path, max_pages: int) -> list[str]:
    """The ids that were acknowledged before the store said that it is full."""
    acknowledged: list[str] = []
    with open_store(path, max_pages=max_pages) as store:
        store.start(sample.run())
        for first in range(0, len(TRIALS), 5):
            batch = TRIALS[first : first + 5]
            asyncio.run(store.sink(sample.run().id).write([LARGE[trial.case.id] for trial in batch]))
            acknowledged += [trial.case.id for trial in batch]
        store.finish(sample.run(status="complete"))
    return acknowledged


def pages(path) -> int:
    return path.stat().st_size // 4096


@pytest.fixture(scope="module")
def room(tmp_path_factory) -> range:
    """From the pages of an empty store to those that the whole run takes."""
    folder = tmp_path_factory.mktemp("room")
    open_store(folder / "empty.db").close()
    write_until_full(folder / "whole.db", 10_000)
    return range(pages(folder / "empty.db"), pages(folder / "whole.db"))


def survive(path, max_pages: int) -> None:
    with pytest.raises(StoreFullError) as full:
        write_until_full(path, max_pages)
    assert "disk is full" in str(full.value)
    # a label or a recorded session may be what did not fit, so the sentence does not tell everybody to resume a run
    assert str(full.value).endswith("kept: free disk space and try again; a stopped run can be resumed.")
    with open_store(path) as store:
        assert store.check().sound
        kept = [result.trial.case.id for run in store.runs() for result in run.results]
        assert len(kept) % 5 == 0, "half a batch was saved"
        if not store.runs():
            store.start(sample.run())
            store.finish(sample.run(status="interrupted"))
        assert go_on(store, sample.run().id, TRIALS) == [trial.case.id for trial in TRIALS][len(kept) :]
        assert len(store.run("last").results) == len(TRIALS)


def test_there_is_something_to_fill(room):
    assert len(room) > 40


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 0.99])
def test_a_store_that_is_full_at_some_page_loses_nothing(room, path, share):
    survive(path, room[int(share * len(room))])


@pytest.mark.sweep
def test_a_store_that_is_full_at_any_page_loses_nothing(room, tmp_path):
    for max_pages in room:
        survive(tmp_path / str(max_pages) / "evalmark.db", max_pages)


def test_the_message_says_how_much_room_is_needed(path):
    with open_store(path, max_pages=20) as store:
        store.start(sample.run())
        with pytest.raises(StoreFullError, match=r"saving 30 results needs about 19\d kB, and .*B are free"):
            asyncio.run(store.sink(sample.run().id).write(list(LARGE.values())))


def test_the_same_store_goes_on_once_there_is_room(path):
    with open_store(path, max_pages=20) as store:
        store.start(sample.run())
        sink = store.sink(sample.run().id)
        with pytest.raises(StoreFullError):
            asyncio.run(sink.write(list(LARGE.values())))
        asyncio.run(sink.write([sample.answered(TRIALS[0])]))
        store.finish(sample.run(status="stopped"))
        assert list(store.run("last").results) == [sample.answered(TRIALS[0])]
