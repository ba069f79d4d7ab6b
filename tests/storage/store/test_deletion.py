"""Deleting runs and recorded sessions: what goes, what stays, and that nothing of it is left in any file."""

import asyncio
import contextlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from evalmark import Case, Output, Result, Score
from evalmark.core.values.score import Trial
from evalmark.core.values.session import Session, Span
from evalmark.core.values.tool import ToolRecording, tool_key
from evalmark.errors import StoreError
from evalmark.storage.store.deletion import Deletion
from evalmark.store import open_store
from evalmark.tracing.annotations.labels import NewLabel, result_subject, save_labels
from tests.storage.call_log import calls

from . import sample
from .places import in_a_file

EVERYWHERE = True
GONE, STAYS = "20261121-143205-aaaa", "20261121-150000-bbbb"
SECRET = "Xk7-ZEBRA-VIOLET"  # noqa: S105  a text to look for
SHARED = 1
"""The number of a call that both runs use."""


def result(number, text, keys):
    case = Case(id=f"case-{number}", input=f"{text} asks {number}", expected=text, metadata={"number": number})
    return Result(
        trial=Trial(case=case, dataset="squares.jsonl", target="app:square", position=number),
        output=Output(value=f"{text} says {number}", metadata={"calls": keys}),
        scores=(Score(name="equals", raw=True, value=1.0, passed=True, reason=f"{text} why"),),
    )


def tool_call(text):
    return ToolRecording(
        key=tool_key("search", "1", {"query": text}, text),
        tool="search",
        version="1",
        arguments={"query": text},
        input=text,
        result=[f"{text} found"],
        created="2026-11-21T14:32:06Z",
    )


def fill(store, run_id, text, numbers):
    """A run with results, model calls, a call of a tool, and nothing else."""
    run = sample.run(run_id)
    store.start(run)

    async def write():
        log = store.call_log(run_id)
        for number in numbers:
            if await log.find(calls.key(number)) is None:
                reply = replace(calls.reply(number), text=f"{text} replies {number}" if number != SHARED else "shared")
                await log.keep(replace(calls.call(number), reply=reply))
        store.tool_log(run_id).keep(tool_call(text))
        keys = [calls.key(number) for number in numbers]
        await store.sink(run_id).write([result(number, text, [*keys, tool_call(text).key]) for number in range(5)])

    asyncio.run(write())
    store.finish(replace(run, status="complete", finished="2026-11-21T15:00:00Z"))


def fill_both(store):
    fill(store, GONE, SECRET, [SHARED, 2, 3])
    fill(store, STAYS, "other", [SHARED, 4])


def files_with(path, text):
    return [file.name for file in path.parent.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


def delete(store, **what):
    deletion = Deletion(**what)
    return store.plan_deletion(deletion), store.delete(deletion)


def assert_rest_is_whole(store):
    assert store.check().problems == ()
    run = store.run(STAYS)
    assert [one.output.value for one in run.results] == [f"other says {number}" for number in range(5)]
    assert asyncio.run(store.call_log().find(calls.key(4))).text == "other replies 4"
    assert asyncio.run(store.call_log().find(calls.key(SHARED))).text == "shared"
    assert store.tool_log().find(tool_call("other").key).result == ["other found"]
    assert store.spending(STAYS)[0].calls == 1


def test_a_run_goes_with_its_own_replies_and_the_shared_ones_stay(path):
    with open_store(path) as store:
        fill_both(store)
        planned, trouble = delete(store, runs=(GONE,))
        assert (planned.results, planned.replies, planned.shared_replies, trouble) == (5, 3, 1, "")
        assert [run.id for run in store.runs()] == [STAYS]
        for number in (2, 3):
            assert asyncio.run(store.call_log().find(calls.key(number))) is None
        assert store.tool_log().find(tool_call(SECRET).key) is None
        assert_rest_is_whole(store)


def test_shared_replies_go_if_they_are_named(path):
    with open_store(path) as store:
        fill_both(store)
        planned, _ = delete(store, runs=(GONE,), with_shared_replies=True)
        assert (planned.replies, planned.shared_replies) == (4, 1)
        assert asyncio.run(store.call_log().find(calls.key(SHARED))) is None
        assert len(list(store.run(STAYS).results)) == 5


def test_labels_go_with_their_run_and_with_no_other(path):
    with open_store(path) as store:
        fill_both(store)
        for run_id in (GONE, STAYS):
            first = next(iter(store.run(run_id).results))
            labels = [(result_subject(run_id, first), NewLabel(by="ann", liked=True, comment=SECRET))]
            save_labels(store, [*labels, (result_subject(run_id, first, "equals"), NewLabel(by="bob", liked=False))])
        planned, _ = delete(store, runs=(GONE,))
        assert planned.labels == 2
        assert (store.labels_of_run(GONE), store.labels_of_run(STAYS)) == (0, 2)


def test_the_sessions_of_a_project_go_with_their_spans(path):
    with open_store(path) as store:
        for number, project in enumerate(("shop", "shop", "bank")):
            session = Session(id=f"{number}" * 16, project=project, started="2026-11-22T00:00:00Z")
            span = Span(
                id=f"{number + 5}" * 16,
                session=session.id,
                project=project,
                name="answer",
                started="2026-11-22T00:00:01Z",
                input=SECRET if project == "shop" else "other",
            )
            store.sessions.add([session], [span])
        unlabelled, labelled = store.labelled_sessions("shop")
        planned, _ = delete(store, sessions=tuple(unlabelled))
        assert (len(unlabelled), labelled, planned.spans) == (2, [], 2)
        assert store.sessions.projects() == ["bank"]
        assert store.sessions.count() == 1


def test_a_run_that_is_being_written_is_refused_and_everything_stays(path):
    with open_store(path) as store, open_store(path) as other:
        fill_both(store)
        other.start(sample.run("20261121-160000-cccc"))
        with pytest.raises(StoreError, match="is being written by process"):
            store.delete(Deletion(runs=(GONE, "20261121-160000-cccc")))
        assert len(store.runs()) == 3
    assert not isinstance(store.path, Path) or not path.with_name("evalmark.db-erase").exists()


@in_a_file
def test_no_byte_is_left_in_any_file(path):
    with open_store(path) as store:
        fill_both(store)
        first = next(iter(store.run(GONE).results))
        save_labels(store, [(result_subject(GONE, first), NewLabel(by="ann", liked=True, comment=SECRET))])
    shutil.copy(path, path.with_name("evalmark.db.v7.bak"))
    assert len(files_with(path, SECRET)) == 2
    with open_store(path) as store:
        planned, trouble = delete(store, runs=(GONE,))
        assert [backup.name for backup in planned.backups] == ["evalmark.db.v7.bak"]
        assert (trouble, files_with(path, SECRET)) == ("", [])
    assert files_with(path, SECRET) == []
    assert files_with(path, "other says 1") == ["evalmark.db"]


@in_a_file
def test_a_backup_without_the_run_stays(path):
    with open_store(path) as store:
        fill(store, STAYS, "other", [4])
        shutil.copy(path, path.with_name("evalmark.db.v6.bak"))
        fill(store, GONE, SECRET, [2])
        delete(store, runs=(GONE,))
    assert path.with_name("evalmark.db.v6.bak").exists()


@in_a_file
def test_a_reader_that_holds_the_log_is_named(path, monkeypatch):
    monkeypatch.setattr("evalmark.storage.database.sqlite._LONGEST_WAIT", 0.2)
    monkeypatch.setattr("evalmark.storage.database.sqlite.LockTimeout.__init__.__defaults__", (0.2,))
    with open_store(path) as store:
        fill_both(store)
        with contextlib.closing(apsw.Connection(str(path))) as reader:
            reader.execute("begin")
            reader.execute("select count(*) from result").fetchall()
            _, trouble = delete(store, runs=(GONE,))
            assert "another process uses the store" in trouble
            reader.execute("commit")
        with open_store(path):
            pass
        assert files_with(path, SECRET) == []
    assert not path.with_name("evalmark.db-erase").exists()


@pytest.mark.slow
def test_a_server_keeps_no_row_of_it(on_a_server):
    import psycopg

    with open_store(on_a_server) as store:
        fill_both(store)
        delete(store, runs=(GONE,))
    address, _, schema = on_a_server.partition("?schema=")
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("checkpoint")
        tables = [name for (name,) in db.execute("select tablename from pg_tables where schemaname = %s", (schema,))]
        for table in tables:
            rows = db.execute(f'select t::text from "{schema}"."{table}" t').fetchall()  # noqa: S608
            assert not [row for row in rows if SECRET in row[0]], table
            (size,) = db.execute("select pg_relation_filepath(%s)", (f"{schema}.{table}",)).fetchone()
            (content,) = db.execute("select encode(pg_read_binary_file(%s), 'escape')", (size,)).fetchone()
            assert SECRET not in content, table


@in_a_file
@pytest.mark.slow
@pytest.mark.parametrize(
    "each", [pytest.param(7, id="at some writes"), pytest.param(1, id="at every write", marks=pytest.mark.sweep)]
)
@pytest.mark.parametrize("how", ["before", "torn", "after"])
def test_a_kill_during_a_deletion_loses_nothing_else(doomed, tmp_path, how, each):
    reference = tmp_path / "reference" / "evalmark.db"
    with open_store(reference) as store:
        fill_both(store)
    at, killed, outcomes = 1, True, set()
    while killed:
        path = tmp_path / str(at) / ".evalmark" / "evalmark.db"
        path.parent.mkdir(parents=True)
        shutil.copy(reference, path)
        killed = doomed.do("delete_run", path.parent.parent, at, how)["killed"]
        with open_store(path) as store:
            left = len(store.runs())
            outcomes.add(left)
            assert_rest_is_whole(store)
            if left == 2:
                assert len(list(store.run(GONE).results)) == 5
        if left == 1:  # the next process that opened the store for writing has erased the rest
            assert files_with(path, SECRET) == [], (at, json.dumps(how))
        at += each
    assert outcomes == {1, 2}
    assert at > 10, "hardly anything was written, so nothing was tested"
