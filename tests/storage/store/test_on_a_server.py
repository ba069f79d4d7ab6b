"""What only a store on a server meets: several machines, connections that are cut, an administrator, other tables."""

import asyncio
import json
import re
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from evalmark import Run
from evalmark.errors import StoreBusyError, StoreError
from evalmark.storage.database.open import parse_store_location
from evalmark.storage.database.schema import STEPS, transaction
from evalmark.storage.postgres.open import open_writable as writing
from evalmark.storage.queries.filter import ResultFilter
from evalmark.storage.results.stored_results import ResultRow, encode_result
from evalmark.storage.results.stored_runs import encode_run
from evalmark.store import open_store, salvage
from tests.conftest import ROOT
from tests.storage.call_log import calls
from tests.storage.call_log.conftest import find, keep, send
from tests.storage.store.test_sharing import begin, end

from . import sample
from .conftest import go_on, record, save
from .places import until

pytestmark = pytest.mark.slow

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'evalmark[postgres]'")
RUN = sample.run().id
MANY = 8


@pytest.fixture
def path(on_a_server, world):
    return on_a_server


def schema_of(path: str) -> str:
    return path.rpartition("=")[2]


def asked(path: str, sql: str, *given):
    """What an administrator finds, or does."""
    with psycopg.connect(path.partition("?")[0], autocommit=True) as db:
        db.execute(f"set search_path = {schema_of(path)}")
        found = db.execute(sql, given or None)
        return found.fetchall() if found.description else []


def cut(path: str) -> None:
    """End all other connections to the store, as a server does that is started again."""
    ended = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name like 'evalmark on %'"
    asked(path, ended)


def at_once(act, count: int = 10) -> list:
    barrier = Barrier(count)

    def one(number):
        barrier.wait(30)
        return act(number)

    with ThreadPoolExecutor(count) as pool:
        return [*pool.map(one, range(count))]


# The tables.


def test_ten_that_open_a_new_store_at_once_make_it_once(path):
    def write(number):
        with open_store(path) as store:
            record(store, sample.run(f"run-{number}"), sample.trials([sample.case(number)]))

    at_once(write)
    assert asked(path, "select version from store_version") == [(len(STEPS),)]
    with open_store(path, read_only=True) as store:
        assert [len(run.results) for run in store.runs()] == [1] * 10


def test_a_store_of_an_earlier_version_is_brought_up_to_date_once_and_keeps_what_it_has(path):
    place = parse_store_location(path)
    with closing(writing(place, lambda _: None, STEPS[:4])) as db:
        run, row = sample.run(status="complete"), encode_result(sample.answered(sample.trials([sample.case(1)])[0])).row
        given = (RUN, "p", "s", "complete", 1, encode_run(run))
        db.execute("insert into run (id, plan, suite, status, pass, header) values (?, ?, ?, ?, ?, ?)", given)
        columns = ", ".join(ResultRow._fields)
        places = ", ".join("?" * len(row))
        db.execute(f"insert into result (run, pass, source, {columns}) values (1, 1, 0, {places})", row)  # noqa: S608
    with pytest.raises(StoreError, match=r"an older evalmark wrote this store .* open it once for writing"):
        open_store(path, read_only=True)
    at_once(lambda _: open_store(path).close())
    assert asked(path, "select metric, value from scored") == [("equals", 1.0)]
    with open_store(path, read_only=True) as store:
        found = store.browse(RUN).page(ResultFilter(order="score", sorted_metric="equals"))
        assert [row.results[0].result.trial.case.id for row in found.rows] == ["case-01"]


def test_a_newer_store_is_refused_and_one_that_became_newer_is_not_written_by_old_code(path):
    with open_store(path) as store:
        record(store, sample.run(), [])
        asked(path, "update store_version set version = 99")
        with pytest.raises(StoreError, match="another evalmark has migrated this store to version 99"):
            store.start(sample.run("two"))
        with pytest.raises(StoreError, match="a newer evalmark wrote this store"):
            store.runs()
    for read_only in (True, False):
        with pytest.raises(StoreError, match=r"a newer evalmark .* update evalmark"):
            open_store(path, read_only=read_only)


def test_a_schema_with_other_tables_stays_as_it_is(path):
    asked(path, f"create schema {schema_of(path)}")
    asked(path, "create table customer (name text)")
    with pytest.raises(
        StoreError, match=r"contains tables of another program; name a schema for evalmark with \?schema="
    ):
        open_store(path)
    tables = "select relname from pg_class where relnamespace = current_schema()::regnamespace"
    assert asked(path, tables) == [("customer",)]


def test_there_is_no_store_yet(path):
    with pytest.raises(StoreError, match="there is no store yet; the first run makes one"):
        open_store(path, read_only=True)


def test_a_damaged_result_is_noticed_and_nothing_of_a_server_is_salvaged_or_copied(path):
    with open_store(path) as store:
        record(store, sample.run(), sample.trials([sample.case(1)]))
        asked(path, "update result set verdict = 'fail'")
        with pytest.raises(StoreError, match=r"is damaged \(its checksum is wrong\)\. Take it from a backup"):
            [*store.run("last").results]
        with pytest.raises(StoreError, match="pg_dump"):
            store.copy("copy.db")
    with pytest.raises(StoreError, match="is mended with the server's own tools"):
        salvage(path, "saved.db")


def test_a_folder_in_which_nothing_can_be_noted_is_said(path, world):
    (world / ".evalmark").write_text("a file", encoding="utf-8")
    with pytest.raises(StoreError, match=r"which is not writable; work in a folder that you may write to"):
        open_store(path)


# Who writes a run.


def test_many_processes_write_their_runs_and_one_journal_at_once(path):
    starts = [number * sample.COUNT // 4 for number in range(MANY)]  # each shares its calls with its neighbours
    said = end([begin("ask", path, f"run-{n}", str(start)) for n, start in enumerate(starts)])
    paid = [int(text.removeprefix("asked ")) for text in said]
    with open_store(path) as store:
        assert all(find(store, calls.key(n)) == calls.call(n).replayed for n in range(starts[-1] + sample.COUNT))
        assert [sum(spent.calls for spent in store.spending(f"run-{n}")) for n in range(MANY)] == paid
        assert [len(store.run(f"run-{n}").results) for n in range(MANY)] == [sample.COUNT] * MANY
        assert [store.interrupted_calls(f"run-{n}") for n in range(MANY)] == [0] * MANY


def test_a_run_of_another_machine_is_refused_as_long_as_that_writes_it(path):
    with open_store(path) as there, open_store(path) as here:
        there.start(sample.run())
        ((held,),) = asked(path, "select holder from run")
        asked(path, "update run set holder = %s", json.dumps({**json.loads(held), "host": "elsewhere", "boot": "b"}))
        assert here.progress().running[0].run == RUN
        for act in (here.resume, here.forget):
            with pytest.raises(StoreBusyError, match=r"is being written by process \d+ on 'elsewhere' since 20\d\d-"):
                act(RUN)
        there.close()
        assert here.run(RUN).status == "interrupted"
        assert here.resume(RUN).status == "running"


def test_a_process_that_is_killed_leaves_its_run_and_all_that_was_acknowledged(path):
    code = f"""if True:
        sys = __import__("sys")
        sys.path.insert(0, {str(ROOT)!r})
        import asyncio
        from evalmark.store import open_store
        from tests.storage.call_log.conftest import keep, send
        from tests.storage.call_log import calls
        from tests.storage.store import sample
        store = open_store(sys.argv[1])
        store.start(sample.run())
        keep(store, calls.call(1))
        send(store, calls.key(2))
        asyncio.run(store.sink(sample.run().id).write([sample.answered(sample.trials([sample.case(1)])[0])]))
        print("written", flush=True)
        input()
    """
    command = [sys.executable, "-c", code, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "written\n"
        with open_store(path) as store:
            with pytest.raises(StoreBusyError, match=f"written by process {process.pid}"):
                store.resume(RUN)
            process.kill()
            process.wait()
            until(lambda: store.run(RUN).status == "interrupted")
            assert go_on(store, RUN, sample.trials([sample.case(1), sample.case(2)])) == ["case-02"]
            assert store.interrupted_calls(RUN) == 0
            assert find(store, calls.key(1)) == calls.call(1).replayed


def test_requests_under_way_on_another_machine_are_unknown_and_not_none(path, tmp_path, monkeypatch):
    with open_store(path) as store:
        store.start(sample.run())
        keep(store, calls.call(1))
        send(store, calls.key(1), calls.key(2))
    with open_store(path, read_only=True) as store:
        assert store.interrupted_calls(RUN) == 2
    monkeypatch.chdir(tmp_path.parent)  # what stands beside the store is in another folder there
    with open_store(path) as store:
        assert store.interrupted_calls(RUN) is None
        store.resume(RUN)
        assert store.interrupted_calls(RUN) is None
        send(store, calls.key(3))
        store.finish(sample.run(status="interrupted"))
    monkeypatch.chdir(tmp_path)
    with open_store(path) as store:
        assert store.interrupted_calls(RUN) == 1, "a pass that has ended itself has told it to the server"
        store.resume(RUN)
        assert store.interrupted_calls(RUN) == 1


def test_a_run_that_is_forced_from_a_living_process_is_that_of_the_new_one(path):
    with open_store(path) as first, open_store(path) as second, open_store(path) as third:
        first.start(sample.run())
        second.resume(RUN, force=True)
        with pytest.raises(StoreBusyError, match="was taken over"):
            save(first, RUN, sample.trials([sample.case(1)]))
        first.close()
        assert third.run(RUN).status == "running"
        save(second, RUN, sample.trials([sample.case(1)]))
        with pytest.raises(StoreBusyError, match="is being written"):
            third.resume(RUN)


# Connections that are cut.


def test_what_is_cut_while_idle_is_made_anew_and_the_run_stays_held(path):
    with open_store(path) as store:
        store.start(sample.run())
        browsing = store.browse(RUN)
        save(store, RUN, sample.trials([sample.case(1)]))
        for number in (2, 3):
            cut(path)
            assert sum(len(row.results) for row in browsing.page(ResultFilter()).rows) == number - 1
            assert store.run(RUN).status == "interrupted", "nobody holds it until it is written again"
            keep(store, calls.call(number))
            assert find(store, calls.key(number)) == calls.call(number).replayed
            save(store, RUN, sample.trials([sample.case(number)]))
            assert store.run(RUN).status == "running"
        with open_store(path) as other, pytest.raises(StoreBusyError, match="is being written"):
            other.resume(RUN)
        store.finish(sample.run(status="complete"))
        browsing.close()


def test_what_is_cut_while_it_writes_fails_whole_and_the_next_attempt_holds(path):
    with open_store(path) as store:
        store.start(sample.run())

        def interrupted(db) -> None:
            with transaction(db):
                db.execute("update run set plan = 'changed' where id = ?", (RUN,))
                cut(path)
                db.execute("update run set suite = 'changed' where id = ?", (RUN,))

        with pytest.raises(
            StoreError,
            match=r"the server cannot be reached, or has ended the connection .*Everything saved before is kept",
        ):
            store._access.write(interrupted, "the change")
        assert asked(path, "select plan, suite from run") == [("p", "s.yaml")]
        save(store, RUN, sample.trials([sample.case(1)]))
        store.finish(sample.run(status="complete"))
        assert len(store.run(RUN).results) == 1


def test_one_who_was_taken_for_gone_stops_when_another_has_taken_the_run_up(path):
    with open_store(path) as slept, open_store(path) as other:
        slept.start(sample.run())
        cut(path)
        other.resume(RUN)
        with pytest.raises(StoreBusyError, match="was taken over"):
            save(slept, RUN, sample.trials([sample.case(1)]))
        save(other, RUN, sample.trials([sample.case(1)]))
        other.finish(sample.run(status="complete"))


def test_a_server_that_is_not_there_is_told_in_one_sentence(world):
    password = "".join(["cAn", "ArY"])
    with pytest.raises(StoreError) as told:
        open_store(f"postgresql://ann:{password}@127.0.0.1:1/evals?password={password}")
    assert re.fullmatch(r"postgresql://127.0.0.1:1/evals: the server cannot be reached.*kept\.", str(told.value))
    assert password not in "".join(traceback.format_exception(told.value))


def test_a_wait_for_others_who_write_is_announced(path):
    notes: list[str] = []
    with open_store(path, notes=notes.append) as store, open_store(path) as other:
        entered, leaving = threading.Event(), threading.Event()

        def write(db) -> None:
            with transaction(db):
                entered.set()
                leaving.wait(30)

        waiting = threading.Thread(target=lambda: other._access.write(write, "the change"))
        waiting.start()
        entered.wait(30)
        later = threading.Thread(target=lambda: (until(lambda: notes), leaving.set()))
        later.start()
        store.start(sample.run())
        waiting.join()
        later.join()
        assert notes == [f"Waiting for another process that is writing {store.path}."]


def test_connections_to_read_with_are_used_again_and_few_wait(path):
    count = "select count(*) from pg_stat_activity where application_name like 'evalmark on %'"
    with open_store(path) as store:
        record(store, sample.run(), sample.trials([sample.case(1)]))
        at_once(lambda _: [store.runs() for _ in range(3)])
        ((waiting,),) = asked(path, count)
        assert waiting <= 1 + 4 + 1, "one that writes, four that wait, and one that looked results up"
        for _ in range(20):
            store.runs()
            store.progress()
        assert asked(path, count) == [(waiting,)]
    until(lambda: asked(path, count) == [(0,)])


# The same everywhere.


def test_the_same_run_in_a_file_and_on_a_server_is_the_same_in_everything(path, tmp_path):
    from evalmark.reports.files.run_csv import as_csv
    from evalmark.reports.files.run_html import as_html
    from evalmark.reports.files.run_json import as_json

    made = [sample.answered(trial) for trial in sample.trials([sample.case(n) for n in range(40)], repeats=2)]
    seen = []
    for place in (tmp_path / "evalmark.db", path):
        with open_store(place) as store:
            store.start(sample.run())
            asyncio.run(store.sink(RUN).write(made[:50]))
            store.finish(sample.run(status="interrupted"))
            store.resume(RUN)
            recorded = store.recorded(RUN)
            left = [result for result in made if not recorded(result.trial)]
            assert len(left) == 30
            asyncio.run(store.sink(RUN).write(left))
            store.finish(sample.run(status="complete"))
            run = replace(store.run("last"), results=tuple(store.run("last").results))
            browsing = store.browse(RUN)
            orders = ("position", "case", "verdict", "seconds", "score")
            pages = [
                browsing.page(ResultFilter(order=order, sorted_metric="equals", descending=down), limit=7)
                for order in orders
                for down in (False, True)
            ]
            browsing.close()
            shown = [[[kept.result for kept in row.results] for row in page.rows] for page in pages]
            totals = [(page.total, page.place, page.is_last) for page in pages]
            ends, health = store.verdict_counts(run), store.check()
            reports = ["".join(write(run)) for write in (as_json, as_csv, as_html)]
            seen.append((run, shown, totals, ends, health.results, reports))
    assert seen[0] == seen[1]


def test_no_file_of_this_test_says_where_it_is(path):
    """Names of files beside a store have no user and no password in them."""
    secret = path.replace("evalmark@", "evalmark:cAnArY@")
    with open_store(secret) as store:
        store.start(sample.run())
        send(store, calls.key(1))
        head = [getattr(store.run(RUN), name) for name in Run.__slots__ if name != "results"]
        assert "cAnArY" not in repr(store.path) + str(store.path) + repr(head) + repr(store.check())
        files = [str(file) for file in Path().rglob("*")]
        assert any("-sent-1-1" in file for file in files)
        assert not any("cAnArY" in file or "evalmark@" in file for file in files)
