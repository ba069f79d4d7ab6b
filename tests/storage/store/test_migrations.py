"""Stores of every earlier release can be opened, and go through every later step without losing anything."""

import asyncio
import os
import stat
import threading
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from evalmark import Case, Example, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo
from evalmark.core.values.score import Trial
from evalmark.core.values.tool import tool_key
from evalmark.errors import StoreError
from evalmark.storage.call_log.tool_recordings import ToolCallSummary
from evalmark.storage.database import sqlite
from evalmark.storage.database.connection import FileConnection
from evalmark.storage.database.schema import STEPS, migrate, version
from evalmark.storage.database.sqlite import open_read_only_file, open_writable_file
from evalmark.store import open_store

from . import sample
from .conftest import go_on, record

RELEASED = {
    int(file.stem.removeprefix("v")): file.read_text(encoding="utf-8")
    for file in sorted(Path(__file__).with_name("schemas").glob("v*.sql"))
}
"""The SQL text of a store of each schema version, with data. A new version needs a file `vN.sql`, and nothing else."""

CASE = Case(
    id="case-01",
    input="What is 1 times 1?",
    expected=1,
    examples=(Example(value=-1, liked=False),),
    contexts=("A table of squares, line 1.",),
    tags=("squares",),
    metadata={"number": 1},
    place="squares.jsonl:2",
)
RESULT = Result(
    trial=Trial(case=CASE, dataset="squares.jsonl", target="app:square"),
    output=Output(value=1, seconds=0.5, contexts=("line",), metadata={"repeat": 0}),
    scores=(Score(name="equals", raw=True, value=1.0, passed=True),),
)
CONVERSED = replace(RESULT, trial=replace(RESULT.trial, mode="conversation"))
RESULTS = {1: [RESULT], **{number: [CONVERSED, RESULT] for number in RELEASED if number > 1}}
KEY = "40de4d525df298a67029cd5600cc7650-0-0"


@pytest.fixture(params=RELEASED, ids=lambda number: f"store version {number}")
def release(request):
    return request.param


@pytest.fixture
def released(release, path):
    path.parent.mkdir()
    db = apsw.Connection(str(path))
    db.execute(RELEASED[release])
    db.close()
    return path


def test_every_version_has_its_fixture():
    assert sorted(RELEASED) == list(range(1, len(STEPS) + 1))


def rows_of(db):
    """Every row of every table, as one value for each table."""
    names = [
        name
        for (name,) in db.execute("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    ]
    columns = {
        name: [column for (column,) in db.execute("select name from pragma_table_info(?)", (name,))] for name in names
    }
    return {name: (columns[name], db.execute(f"select * from {name}").fetchall()) for name in names}  # noqa: S608


def test_each_later_step_keeps_every_row_of_every_table(released, release):
    db = FileConnection(str(released))
    before = rows_of(db)
    assert before["run"][1]
    for steps in range(release, len(STEPS) + 1):
        migrate(db, released, STEPS[:steps])
        assert version(db) == steps
        after = rows_of(db)
        for table, (columns, rows) in before.items():
            places = [after[table][0].index(column) for column in columns]
            assert [tuple(row[place] for place in places) for row in after[table][1]] == rows, (steps, table)
    db.close()
    with open_store(released, read_only=True) as store:
        assert [run.id for run in store.runs()] == [row[1] for row in before["run"][1]]
        assert store.check().sound


def test_a_store_of_an_earlier_release_keeps_its_runs(released, release):
    with open_store(released) as store:
        run = store.run("last")
        assert list(run.results) == RESULTS[release]
        assert (run.status, run.datasets, run.suite) == ("interrupted", (DatasetInfo(name="squares.jsonl"),), "s.yaml")
        assert isinstance(run, Run)
        assert store.check().sound


def test_a_run_of_an_earlier_release_is_resumed_without_computing_anything_again(released, release):
    with open_store(released) as store:
        assert go_on(store, "20261121-143205-aaaa", [result.trial for result in RESULTS[release]]) == []


def test_what_runs_of_earlier_releases_did_not_know_has_its_usual_value(released, release):
    with open_store(released) as store:
        run = store.run("last")
        assert [(metric.judge, metric.base) for metric in run.metrics] == [("openai/x", "fact")] * (release > 1)
        assert run.spending == store.spending(run.id)
        assert [result.trial.mode for result in run.results] == ["conversation", "single"][release == 1 :]


@pytest.mark.parametrize("release", range(2, len(STEPS) + 1), indirect=True)
def test_the_calls_of_an_earlier_release_are_found(released):
    with open_store(released) as store:
        assert asyncio.run(store.call_log().find(KEY)).text == "1"
        found = store.recordings.call(KEY)
        assert (found.reply.text, found.request.messages[0].content) == ("1", "What is 1 times 1?")
        assert found.request.key("openai x") == KEY
        assert store.recordings.call("k2").error == "answered 500"
        assert store.interrupted_calls("20261121-143205-aaaa") == 1


@pytest.mark.parametrize("release", range(3, len(STEPS) + 1), indirect=True)
def test_the_calls_of_tools_of_an_earlier_release_are_found(released):
    key = tool_key("search", "1", {"query": "squares"}, "What is 1 times 1?")
    with open_store(released) as store:
        assert store.tool_log().find(key).result == ["1 x 1 = 1"]
        assert store.recordings.by_tool() == [
            ToolCallSummary(tool="search", version="1", calls=1, newest="2026-11-21T14:32:06.500+00:00")
        ]


def test_new_stores_and_migrated_ones_have_the_same_tables(released, tmp_path):
    open_store(released).close()
    open_store(tmp_path / "new.db").close()
    tables = []
    for file in (released, tmp_path / "new.db"):
        db = open_read_only_file(file)
        query = "select m.name, c.name, c.type, c.'notnull' from sqlite_schema m, pragma_table_info(m.name) c order by 1, c.cid"
        indices = db.execute("select name, sql from sqlite_schema where type = 'index' and sql is not null order by 1")
        tables.append([*db.execute(query), *((name, " ".join(sql.split())) for name, sql in indices)])
        db.close()
    assert tables[0] == tables[1]


def test_results_of_an_earlier_release_are_found_by_their_scores(released, release):
    with open_store(released) as store:
        run = store.resume("20261121-143205-aaaa")
        other = replace(
            RESULT, trial=replace(RESULT.trial, target="app:other"), scores=(Score(name="equals", value=0.5),)
        )
        asyncio.run(store.sink(run.id).write([other]))
    db = open_read_only_file(released)
    known = [(1, "equals", 1.0, number) for number in range(1, len(RESULTS[release]) + 1)]
    assert db.execute("select * from scored order by result").fetchall() == [*known, (1, "equals", 0.5, len(known) + 1)]
    db.close()


def test_the_vectors_of_an_earlier_release_are_found(released):
    with open_store(released) as store:
        assert asyncio.run(store.get("model", ["text"]))["text"].tolist() == [1, 2]


LATER = (*STEPS, sample.later_title)


@pytest.fixture
def older(path):
    """A store with a run, one version behind `UNSUPPORTED_TARGETS`."""
    with open_store(path) as store:
        record(store, sample.run(), sample.trials([sample.case(1)]))
    return path


def test_a_migration_keeps_a_copy_of_the_older_store(older):
    db = open_writable_file(older, print, steps=LATER)
    assert version(db) == len(STEPS) + 1
    assert db.execute("select title from run").get == sample.run().id.upper()
    db.close()
    backup = older.with_name(f"evalmark.db.v{len(STEPS)}.bak")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with open_store(backup, read_only=True) as store:
        assert store.check().sound
        assert len(store.run("last").results) == 1
    assert {file.name for file in older.parent.iterdir()} == {
        ".gitignore",
        "evalmark.db",
        f"evalmark.db.v{len(STEPS)}.bak",
    }


def test_a_step_that_fails_changes_nothing(older):
    def broken(db) -> None:
        db.execute("alter table run add column title text")
        db.execute("select nonsense")

    with pytest.raises(StoreError, match="nonsense"):
        open_writable_file(older, print, steps=(*STEPS, broken))
    with open_store(older) as store:
        assert store.check().version == len(STEPS)
        assert len(store.run("last").results) == 1


def test_two_that_migrate_at_once_do_it_once(older):
    databases, faults = [], []

    def migrate() -> None:
        try:
            databases.append(open_writable_file(older, print, steps=LATER))
        except Exception as error:  # noqa: BLE001  told below
            faults.append(error)

    threads = [threading.Thread(target=migrate) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert [version(db) for db in databases] == [len(STEPS) + 1] * 4
    for db in databases:
        db.close()


def test_an_older_store_is_brought_up_to_date_before_it_is_read(released, release):
    notes = []
    with open_store(released, read_only=True, notes=notes.append) as store:
        assert list(store.run("last").results) == RESULTS[release]
    assert [("older evalmark" in note) for note in notes] == [True] * (release < len(STEPS))
    assert released.with_name(f"{released.name}.v{release}.bak").exists() == (release < len(STEPS))


def test_an_older_store_that_may_not_be_written_is_named(older, monkeypatch):
    monkeypatch.setattr(sqlite, "STEPS", LATER)
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(
        StoreError, match=r"an older evalmark wrote this store .*; copy it to a folder that you may write"
    ):
        open_store(older, read_only=True)


def test_a_file_of_no_version_is_not_changed_by_reading(path):
    path.parent.mkdir()
    db = apsw.Connection(str(path))
    db.pragma("application_id", 1702260075)
    db.execute("create table run (id text)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"older evalmark wrote this store .store version 0, this one needs"):
        open_store(path, read_only=True)
    assert path.read_bytes() == before


def test_a_damaged_result_does_not_keep_a_store_from_being_brought_up_to_date(released, release):
    db = apsw.Connection(str(released))
    db.execute("""update result set scores = '[{"name":"equ'""")
    db.close()
    with open_store(released) as store:
        assert len(store.run("last").results) == len(RESULTS[release])
        with pytest.raises(StoreError, match="damaged"):
            list(store.run("last").results)


@pytest.mark.parametrize("release", range(4, len(STEPS) + 1), indirect=True)
def test_the_sessions_and_labels_of_an_earlier_release_are_found(released):
    with open_store(released) as store:
        found = store.sessions.labelled_answers("demo")
        assert [(one.span.input, one.liked) for one in found.labelled] == [({"question": "Oslo?"}, True)]
        assert store.sessions.session("last").answers == (found.labelled[0].span,)
