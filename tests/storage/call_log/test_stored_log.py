"""What the journal of the store promises beyond the contract of every journal."""

import asyncio
import threading
from contextlib import closing
from dataclasses import replace

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark import Turn
from evalmark.core.values.call import Attempt, Call, Reply, Request, Token
from evalmark.core.values.case import Usage
from evalmark.errors import StoreError, StoreFullError
from evalmark.storage.call_log.rows import decode_call, encode_call
from evalmark.store import open_store
from tests.storage.results.test_rows import anything, calls, data, mapping, optional
from tests.storage.store import sample
from tests.storage.store.places import in_a_file

from .calls import as_meant, call, failed, key, reply, request
from .conftest import RUN, break_off, find, keep, send

EVERYWHERE = True


def change(path, statement: str, *values) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.execute(statement, values)


# Any call that can be made comes back as it was.

counts = st.none() | st.integers(0, 10**12)
tokens = st.builds(
    Token,
    anything,
    st.floats(allow_nan=False),
    st.lists(st.tuples(anything, st.floats(allow_nan=False)), max_size=2).map(tuple),
)
replies = st.builds(
    Reply,
    text=anything,
    status=st.sampled_from(["ok", "truncated", "refused", "filtered", "empty"]),
    data=data,
    form=st.sampled_from(["", "schema", "tool", "text"]),
    reasoning=anything,
    tool_calls=st.lists(calls, max_size=2).map(tuple),
    usage=st.builds(Usage, input_tokens=counts, output_tokens=counts, cached_tokens=counts),
    cost=st.none() | st.floats(0, 100),
    model=anything,
    system_fingerprint=anything,
    seconds=st.none() | st.floats(0, 1e6),
    attempts=st.lists(
        st.builds(
            Attempt, seconds=st.floats(0, 1e6), error=anything, status=st.none() | st.integers(100, 599), body=anything
        ),
        max_size=2,
    ).map(tuple),
    tokens=st.lists(tokens, max_size=2).map(tuple),
    headers=st.dictionaries(anything, anything, max_size=2),
    key=anything,
    replayed=st.booleans(),
)
requests = st.builds(
    Request,
    messages=st.lists(st.builds(Turn, role=anything, content=data), max_size=3).map(tuple),
    schema=st.none() | mapping,
    settings=mapping,
    logprobs=st.integers(0, 20),
)
any_calls = st.builds(
    Call,
    key=anything,
    model=anything,
    identity=anything,
    request=requests,
    repeat=st.integers(0, 10**9),
    use=st.integers(0, 10**9),
    reply=st.none() | replies,
    error=optional,
    created=anything,
)


@given(any_calls)
def test_any_call_comes_back_equal_and_asks_the_same(made):
    row = encode_call(made)
    assert decode_call(row) == replace(made, request=as_meant(made.request))
    assert decode_call(row).request.hash == made.request.hash
    assert (row.request + (row.reply or "")).isascii()


@given(st.lists(any_calls.map(encode_call), min_size=1, max_size=1), st.data())
@settings(max_examples=50)
def test_no_row_with_a_changed_column_is_taken_for_a_call(rows, choices):
    (row,) = rows
    name = choices.draw(st.sampled_from([name for name in row._fields if name != "checksum"]))
    other = choices.draw(any_calls.map(encode_call).map(lambda drawn: getattr(drawn, name)))
    if repr(other) != repr(getattr(row, name)):
        with pytest.raises((ValueError, TypeError)):
            decode_call(row._replace(**{name: other}))


@pytest.mark.parametrize(
    ("usage", "kept"),
    [
        pytest.param(Usage(input_tokens=2**70, output_tokens=1), (None, 1), id="more tokens than SQLite can count"),
        pytest.param(Usage(input_tokens=-1, output_tokens=1), (None, 1), id="fewer than none"),
        pytest.param(Usage(input_tokens=1.5, output_tokens=True), (None, None), id="no whole numbers"),
    ],
)
def test_counts_that_cannot_be_are_unknown_and_cost_no_other_call_of_the_group(store, usage, kept):
    keep(store, call(1, reply=reply(1, usage=usage, cost=float("nan"))), call(2))
    assert find(store, key(2)) == call(2).replayed
    (first,) = [recording for recording in store.recordings.newest() if recording.key == key(1)]
    assert (first.input_tokens, first.output_tokens, first.cost) == (*kept, None)


def test_a_call_that_cannot_be_kept_at_all_costs_only_itself(store):
    async def both() -> list:
        journal = store.call_log(RUN)
        bad = replace(call(1), repeat=2**70)
        return await asyncio.gather(journal.keep(bad), journal.keep(call(2)), return_exceptions=True)

    found = asyncio.run(both())
    assert isinstance(found[0], ValueError)
    assert found[1] is None
    assert find(store, key(2)) == call(2).replayed


# Finding.


def test_a_call_is_found_as_soon_as_it_is_acknowledged_by_every_journal_of_every_store(store, path):
    with open_store(path) as second, open_store(path, read_only=True) as third:
        for number in range(20):
            keep(store, call(number))
            assert (
                find(store, key(number))
                == find(second, key(number))
                == find(third, key(number))
                == call(number).replayed
            )


def test_calls_outlive_store_and_run(path):
    with open_store(path) as store:
        store.start(sample.run())
        keep(store, call(1))
        break_off(store)
        store.forget(RUN)
    with open_store(path) as store:
        assert find(store, key(1)) == call(1).replayed


@in_a_file
def test_a_damaged_call_is_not_found_is_said_and_is_replaced_by_the_next(path):
    notes: list[str] = []
    with open_store(path, notes=notes.append) as store:
        keep(store, call(1), run=None)
        change(path, "update call set reply = replace(reply, '\"1\"', '\"2\"')")
        assert find(store, key(1)) is None
        assert notes == [
            f"{path}: the recorded call {key(1)} is damaged (its checksum is wrong) and counts as not recorded."
        ]
        with pytest.raises(StoreError, match=r"the recorded call .* is damaged \(its checksum is wrong\)"):
            store.recordings.call(key(1))
        keep(store, call(1), run=None)
        assert find(store, key(1)) == call(1).replayed


def test_many_threads_find_at_once(store):
    keep(store, *map(call, range(50)))
    faults = []

    def look() -> None:
        if [find(store, key(number)) for number in range(50)] != [call(number).replayed for number in range(50)]:
            faults.append("another call was found")

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


# Who may keep.


@in_a_file
def test_outside_of_runs_calls_are_kept_and_nothing_is_noted(store, path):
    keep(store, call(1), run=None)
    send(store, key(2), run=None)
    assert find(store, key(1)) == call(1).replayed
    assert store.spending(RUN) == ()
    with closing(apsw.Connection(str(path))) as db:
        assert db.execute("select count(*) from sent").get == 0
    assert [*path.parent.glob("*-sent-*")] == []


def test_a_store_for_reading_finds_calls_and_keeps_none(store, path):
    keep(store, call(1))
    with open_store(path, read_only=True) as reader:
        journal = reader.call_log()
        assert asyncio.run(journal.find(key(1))) == call(1).replayed
        for waiting in (journal.keep(call(2)), journal.sending(key(2))):
            with pytest.raises(StoreError, match="opened for reading only"):
                asyncio.run(waiting)


def test_the_journal_of_a_run_that_is_not_written_here_is_refused(store):
    with pytest.raises(StoreError, match="start or resume it first"):
        store.call_log("another")


def test_a_closed_store_says_so(path):
    with open_store(path) as store:
        journal = store.call_log()
    for waiting in (journal.keep(call(1)), journal.find(key(1))):
        with pytest.raises(StoreError, match="is closed"):
            asyncio.run(waiting)


def test_a_run_that_another_process_has_taken_over_loses_no_call(store, path):
    journal = store.call_log(RUN)
    asyncio.run(journal.sending(key(1)))
    with open_store(path) as second:
        second.resume(RUN, force=True)
        send(second, key(1))
        asyncio.run(journal.keep(call(1)))
        assert find(second, key(1)) == call(1).replayed
        keep(second, call(2))


# Cancelling, closing.


def test_a_task_that_is_cancelled_while_its_call_is_kept_loses_no_call(path):
    with open_store(path) as store:
        store.start(sample.run())

        async def cancelled() -> None:
            journal = store.call_log(RUN)
            tasks = [asyncio.create_task(journal.keep(call(number))) for number in range(40)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run(cancelled())
        break_off(store)
        assert [spent.calls for spent in store.spending(RUN)] == [40]
    with open_store(path) as store:
        assert all(find(store, key(number)) == call(number).replayed for number in range(40))


def test_closing_writes_what_is_still_on_its_way(path):
    with open_store(path) as store:
        store.start(sample.run())

        async def go_away() -> None:
            journal = store.call_log(RUN)
            tasks = [asyncio.create_task(journal.keep(call(number))) for number in range(40)]
            await asyncio.sleep(0)
            store.close()
            await asyncio.gather(*tasks)

        asyncio.run(go_away())
    with open_store(path) as store:
        assert all(find(store, key(number)) == call(number).replayed for number in range(40))


def test_results_vectors_and_calls_are_written_side_by_side(store):
    async def everything() -> None:
        journal, sink = store.call_log(RUN), store.sink(RUN)
        trials = sample.trials([sample.case(number) for number in range(30)])
        await asyncio.gather(
            *(journal.keep(call(number)) for number in range(200)),
            *(sink.write([sample.answered(trial)]) for trial in trials),
            *(store.put("m", {str(number): np.zeros(4, dtype=np.float32)}) for number in range(30)),
        )

    asyncio.run(everything())
    assert (len(store.run(RUN).results), store.check().calls, store.check().vectors) == (30, 200, 30)


# A full disk.


@in_a_file
def test_a_full_disk_is_told_to_all_who_wait_and_what_was_acknowledged_is_kept(path):
    large = [call(number, reply=reply(number, reasoning="words " * 2_000)) for number in range(40)]
    acknowledged: list[Call] = []
    with open_store(path, max_pages=60) as store:
        store.start(sample.run())
        journal = store.call_log(RUN)

        async def one(kept: Call) -> None:
            await journal.keep(kept)
            acknowledged.append(kept)

        async def group(these: list[Call]) -> list:
            return await asyncio.gather(*map(one, these), return_exceptions=True)

        said = []
        for at in range(0, 40, 4):
            said += filter(None, asyncio.run(group(large[at : at + 4])))
            store.runs()  # moves what is in the file into the store, as half a second does
        assert said
        assert {type(fault) for fault in said} == {StoreFullError}
        assert "the disk is full: saving" in str(said[0])
        assert "Everything saved before is kept" in str(said[0])
    with open_store(path) as store:
        assert store.check().sound
        assert 0 < len(acknowledged) < 40
        assert all(find(store, kept.key) == kept.replayed for kept in acknowledged)
        # A call that came after the disk was full may have found its way into the file of replies.
        assert 40 >= store.check().calls == sum(spent.calls for spent in store.spending(RUN)) >= len(acknowledged)


@in_a_file
def test_the_same_journal_goes_on_once_there_is_room(path):
    with open_store(path, max_pages=60) as store:
        store.start(sample.run())
        with pytest.raises(StoreFullError, match=r"saving 1 call needs about \d+ kB"):
            keep(store, call(1, reply=reply(1, reasoning="words " * 100_000)))
        keep(store, call(2), failed(3))
        assert find(store, key(2)) == call(2).replayed
        assert store.interrupted_calls(RUN) == 0
        break_off(store)
        assert store.interrupted_calls(RUN) == 1, "what was sent and could not be kept is asked again"


def test_a_request_is_hashed_from_its_texts():
    from evalmark.core.values.call import KEY_VERSION
    from evalmark.core.values.plain_data import canonical, fingerprint

    made = request(1)
    assert made.hash == fingerprint(KEY_VERSION, made.messages, made.schema, made.settings, made.logprobs)
    assert made.texts[0] == canonical(made.messages)
