"""Stores of every earlier release can be opened. What stands in `RELEASED` is history: it is never edited."""

import asyncio
import stat
import threading
from dataclasses import replace

import apsw
import pytest

from evalmark import Case, Example, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo
from evalmark.core.values.score import Trial
from evalmark.core.values.tool import tool_key
from evalmark.errors import StoreError
from evalmark.storage.call_log.tool_recordings import ToolCallSummary
from evalmark.storage.database.schema import STEPS, version
from evalmark.storage.database.sqlite import open_read_only_file, open_writable_file
from evalmark.store import open_store

from . import sample
from .conftest import go_on, record

VERSION_1 = [
    "pragma application_id = 1702260075",
    """
    create table run (
        number integer primary key autoincrement, id text not null unique, plan any not null, suite any not null,
        status text not null, pass integer not null, holder text, header text not null
    ) strict
    """,
    """
    create table result (
        number integer primary key, run integer not null references run(number) on delete cascade,
        pass integer not null, source integer not null, dataset any not null, position integer not null,
        repeat integer not null, target any not null, case_id any not null, fingerprint text not null,
        verdict text not null, seconds real, place any not null, scores text not null, output text not null,
        content text not null, checksum integer not null
    ) strict
    """,
    "create unique index result_once on result(run, dataset, case_id, target, repeat, fingerprint)",
    "create index result_order on result(run, source, dataset, position, repeat, target)",
    "create index result_verdict on result(run, verdict)",
    "create table vector (key blob primary key, numbers blob not null) strict",
    """
    insert into run values (1, '20261121-143205-aaaa', 'p', 's.yaml', 'interrupted', 1, null,
    '{"id":"20261121-143205-aaaa","name":"squares","created":"2026-11-21T14:32:05Z","status":"interrupted","datasets":[{"name":"squares.jsonl"}],"repeat":1,"suite":"s.yaml","plan":"p"}')
    """,
    """
    insert into result values (1, 1, 1, 0, 'squares.jsonl', 0, 0, 'app:square', 'case-01',
    '55d415e5af4dc15420451746a97896d5', 'pass', 0.5, 'squares.jsonl:2',
    '[{"name":"equals","raw":true,"value":1.0,"passed":true}]',
    '{"value":1,"seconds":0.5,"contexts":["line"],"metadata":{"repeat":0}}',
    '{"input":"What is 1 times 1?","expected":1,"examples":[{"value":-1,"liked":false}],"contexts":["A table of squares, line 1."],"tags":["squares"],"metadata":{"number":1}}',
    3522305808)
    """,
    """
    insert into vector values
    (x'9c3982750b170d5f94fe88d181100cc61b36afa3a9def0abc44a00f26d19cde0', x'0000803f00000040')
    """,
    "pragma user_version = 1",
]
VERSION_2 = [
    *VERSION_1[:2],
    VERSION_1[2].replace("checksum integer not null", "checksum integer not null, mode text not null default 'single'"),
    "create unique index result_once on result(run, dataset, case_id, target, repeat, mode, fingerprint)",
    "create index result_order on result(run, source, dataset, position, repeat, target, mode)",
    *VERSION_1[5:7],
    """
    create table call (
        number integer primary key, key any not null unique, ok integer not null, run integer, model any not null,
        created any not null, input_tokens integer, output_tokens integer, cost real, identity any not null,
        repeat integer not null, use integer not null, error any, request text not null, reply text,
        checksum integer not null
    ) strict
    """,
    """
    create table sent (
        run integer primary key, pass integer not null, known integer not null, under_way text not null,
        lost text not null
    ) strict
    """,
    """
    create table spent (
        run integer not null, model any not null, calls integer not null, failed integer not null,
        repeated integer not null, attempts integer not null, input_tokens integer not null,
        output_tokens integer not null, unknown_usage integer not null, cost real, unknown_cost integer not null,
        primary key (run, model)
    ) strict, without rowid
    """,
    """
    insert into run values (1, '20261121-143205-aaaa', 'p', 's.yaml', 'interrupted', 1, null,
    '{"id":"20261121-143205-aaaa","name":"squares","created":"2026-11-21T14:32:05Z","status":"interrupted","datasets":[{"name":"squares.jsonl"}],"metrics":[{"name":"fact","judge":"openai/x","base":"fact"}],"repeat":1,"suite":"s.yaml","plan":"p","spending":[{"model":"openai/x","calls":1,"failed":1,"input_tokens":9,"output_tokens":1,"cost":0.25}]}')
    """,
    VERSION_1[8].rstrip().removesuffix(")") + ", 'single')",
    VERSION_1[8].replace("values (1, 1, 1,", "values (2, 1, 1,").replace("3522305808)", "49066312, 'conversation')"),
    """
    insert into call values (1, '40de4d525df298a67029cd5600cc7650-0-0', 1, 1, 'openai/x',
    '2026-11-21T14:32:06.000+00:00', 9, 1, 0.25, 'openai x', 0, 0, null,
    '{"messages":[{"content":"What is 1 times 1?","role":"user"}],"settings":{"temperature":0},"logprobs":0}',
    '{"text":"1","usage":{"input_tokens":9,"output_tokens":1},"cost":0.25}', 1639293372)
    """,
    """
    insert into call values (2, 'k2', 0, 1, 'openai/x', '2026-11-21T14:32:07.000+00:00', null, null, null, 'openai x',
    0, 0, 'answered 500',
    '{"messages":[{"content":"What is 1 times 1?","role":"user"}],"settings":{"temperature":0},"logprobs":0}',
    null, 2845654863)
    """,
    "insert into sent values (1, 1, 0, '[\"k3\"]', '{}')",
    "insert into spent values (1, 'openai/x', 1, 1, 0, 0, 9, 1, 0, 0.25, 0)",
    VERSION_1[9],
    "pragma user_version = 2",
]
VERSION_3 = [
    *VERSION_2[:-1],
    """
    create table tool_call (
        number integer primary key, key text not null unique, run integer, tool any not null, version any not null,
        created any not null, altered integer not null, arguments text not null, input text not null,
        result text not null, checksum integer not null
    ) strict
    """,
    """
    insert into tool_call values (1, 'tool-907acdc9784f0f0c850b090c3ea7c6c6', 1, 'search', '1',
    '2026-11-21T14:32:06.500+00:00', 0, '{"query":"squares"}', '"What is 1 times 1?"', '["1 x 1 = 1"]', 1924302356)
    """,
    "pragma user_version = 3",
]
VERSION_4 = [
    *VERSION_3[:-1],
    """
    create table session (
        number integer primary key autoincrement, id text not null unique, project any not null,
        dropped integer not null, header text not null
    ) strict
    """,
    "create index session_project on session(project, number)",
    """
    create table span (
        number integer primary key autoincrement, id text not null unique, session text not null, project any not null,
        parent text not null, template any not null, content text not null, checksum integer not null
    ) strict
    """,
    "create index span_session on span(session, number)",
    "create index span_project on span(project, number) where parent = ''",
    "create index span_template on span(template, number) where template != ''",
    """
    create table label (
        number integer primary key autoincrement, about any not null, fingerprint text not null, content text not null,
        checksum integer not null
    ) strict
    """,
    "create index label_about on label(about, number)",
    "create index label_fingerprint on label(fingerprint, number)",
    """
    insert into session values (1, '5555555555555555', 'demo', 0,
    '{"id":"5555555555555555","project":"demo","started":"2026-11-22T00:00:00.000000+00:00"}')
    """,
    """
    insert into span values (1, 'aaaaaaaaaaaaaaaa', '5555555555555555', 'demo', '', '',
    '{"id":"aaaaaaaaaaaaaaaa","session":"5555555555555555","project":"demo","name":"chain","started":"2026-11-22T00:00:01.000000+00:00","input":{"question":"Oslo?"},"output":"yes"}',
    1421113145)
    """,
    """
    insert into label values (1, 'span:aaaaaaaaaaaaaaaa', 'c',
    '{"about":"span:aaaaaaaaaaaaaaaa","liked":true,"by":"ann","created":"2026-11-22T02:00:00.000000+00:00","content":"c"}',
    1270232790)
    """,
    "pragma user_version = 4",
]
VERSION_5 = [
    *(s for s in VERSION_4[:-1] if "index result_order" not in s and "index result_verdict" not in s),
    """
    create index result_order on result(run, source, dataset, position, repeat, target, mode, verdict) where pass > 0
    """,
    "create index result_verdict on result(run, verdict, source, dataset, position, repeat) where pass > 0",
    "create index result_seconds on result(run, seconds) where pass > 0",
    """
    create table scored (
        run integer not null, metric any not null, value real not null, result integer not null,
        primary key (run, metric, value, result)
    ) strict, without rowid
    """,
    "insert into scored values (1, 'equals', 1.0, 1), (1, 'equals', 1.0, 2)",
    "pragma user_version = 5",
]
VERSION_6 = [
    *VERSION_5[:-1],
    """
    create table label_sample (
        number integer primary key autoincrement, run text not null, content text not null, checksum integer not null
    ) strict
    """,
    "create index label_sample_run on label_sample(run, number)",
    "pragma user_version = 6",
]
VERSION_7 = [
    *VERSION_6[:-1],
    "create table reply_log (id text primary key, processed integer) strict",
    "pragma user_version = 7",
]
RELEASED = dict(enumerate((VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5, VERSION_6, VERSION_7), start=1))

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
RESULTS = {1: [RESULT], **{number: [CONVERSED, RESULT] for number in range(2, 8)}}
KEY = "40de4d525df298a67029cd5600cc7650-0-0"


@pytest.fixture(params=RELEASED, ids=lambda number: f"store version {number}")
def release(request):
    return request.param


@pytest.fixture
def released(release, path):
    path.parent.mkdir()
    db = apsw.Connection(str(path))
    for statement in RELEASED[release]:
        db.execute(statement)
    db.close()
    return path


def test_every_version_has_its_fixture():
    assert list(RELEASED) == list(range(1, len(STEPS) + 1))


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


@pytest.mark.parametrize("release", [2, 3], indirect=True)
def test_the_calls_of_an_earlier_release_are_found(released):
    with open_store(released) as store:
        assert asyncio.run(store.call_log().find(KEY)).text == "1"
        found = store.recordings.call(KEY)
        assert (found.reply.text, found.request.messages[0].content) == ("1", "What is 1 times 1?")
        assert found.request.key("openai x") == KEY
        assert store.recordings.call("k2").error == "answered 500"
        assert store.interrupted_calls("20261121-143205-aaaa") == 1


@pytest.mark.parametrize("release", [3], indirect=True)
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


def test_an_older_store_is_not_changed_by_reading(path):
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


@pytest.mark.parametrize("release", [4, 5], indirect=True)
def test_the_sessions_and_labels_of_an_earlier_release_are_found(released):
    with open_store(released) as store:
        found = store.sessions.labelled_answers("demo")
        assert [(one.span.input, one.liked) for one in found.labelled] == [({"question": "Oslo?"}, True)]
        assert store.sessions.session("last").answers == (found.labelled[0].span,)
