"""What tools gave, as the store keeps it: found as it was, never half, never as a secret, and handed on as a file."""

import asyncio
import json
import multiprocessing
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark.core.values.tool import ToolRecording
from evalmark.errors import DamagedRecordingError, DataError, StoreError, StoreFullError, ToolError
from evalmark.storage.call_log.tool_recordings import ToolCallSummary
from evalmark.storage.call_log.tool_rows import decode_tool, encode_tool
from evalmark.store import open_store, salvage
from tests.runs.tool_replay.journal_contract import ToolJournalContract
from tests.storage.store import sample
from tests.storage.store.places import in_a_file

from .calls import MODEL, call, tool_call
from .conftest import RUN, keep

EVERYWHERE = True

HEAD = '{"format":"evalmark-calls","version":1}'
COLUMNS = ("tool", "version", "created", "altered", "arguments", "input", "result", "checksum")


class TestTheStore(ToolJournalContract):
    @contextmanager
    def open(self, tmp_path):
        with open_store(tmp_path / "evalmark.db") as store:
            store.start(sample.run())
            yield store.tool_log(RUN)


def kept(store, *recordings: ToolRecording, run: str | None = RUN) -> None:
    for one in recordings:
        store.tool_log(run).keep(one)


def change(path, assignment: str) -> None:
    """Have a disk change what the recordings say."""
    with closing(apsw.Connection(str(path))) as db:
        db.execute(f"update tool_call set {assignment}")  # noqa: S608  the test's own words


json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet="abcdxyz"), inner, max_size=4),
    max_leaves=10,
)


@given(st.text(), st.text(), st.dictionaries(st.text(alphabet="abcdxyz"), json_data), json_data, json_data)
def test_any_recording_comes_back_equal(tool, version, arguments, asked, result):
    one = tool_call(1, tool=tool, version=version, arguments=arguments, input=asked, result=result)
    assert decode_tool(encode_tool(one)) == one


def test_what_is_recorded_is_there_when_the_store_is_opened_again(path):
    with open_store(path) as store:
        kept(store, tool_call(1), run=None)
    with open_store(path, read_only=True) as store:
        assert store.tool_log().find(tool_call(1).key) == store.recordings.tool_call(tool_call(1).key) == tool_call(1)
        assert store.recordings.tool_call("tool-none") is None
        with pytest.raises(StoreError, match="opened for reading only"):
            store.tool_log().keep(tool_call(2))


@in_a_file
def test_arguments_that_go_by_the_name_of_a_secret_never_reach_the_disk(store, path, tmp_path):
    arguments = {"url": "/", "headers": {"Authorization": "Bearer s3cret"}, "more": [{"api_key": "s3cret"}]}
    given_ = tool_call(1, arguments=arguments)
    found = store.tool_log(RUN).keep(given_)
    assert found.arguments == {
        "url": "/",
        "headers": {"Authorization": "(not kept)"},
        "more": [{"api_key": "(not kept)"}],
    }
    assert found.altered
    assert store.tool_log().find(given_.key) == found
    assert arguments["more"] == [{"api_key": "s3cret"}], "the caller's own stays as it was"
    store.recordings.export(tmp_path / "out.jsonl")
    for file in (*path.parent.iterdir(), tmp_path / "out.jsonl"):
        assert b"s3cret" not in file.read_bytes(), file.name


def test_a_result_that_no_file_could_hold_is_refused(store):
    with pytest.raises(
        ToolError, match=r"square: a call takes 17,\d{3},\d{3} characters, and at most 16,777,216 can be"
    ):
        kept(store, tool_call(1, result="x" * 17_000_000))
    assert store.recordings.by_tool() == []


@pytest.mark.parametrize("column", COLUMNS)
@in_a_file
def test_a_row_that_the_disk_has_changed_is_damaged_and_never_used(store, path, column):
    kept(store, tool_call(1))
    change(path, f"{column} = {column} + 1" if column in ("altered", "checksum") else f"{column} = {column} || ' '")
    with pytest.raises(
        DamagedRecordingError, match=r"the recorded tool call tool-\w+ is damaged .its checksum is wrong"
    ):
        store.tool_log().find(tool_call(1).key)
    with pytest.raises(StoreError, match="The tool is called again when the result is needed"):
        store.recordings.tool_call(tool_call(1).key)


@in_a_file
def test_a_damaged_row_gives_way_to_the_next_recording(store, path):
    kept(store, tool_call(1))
    change(path, "result = '[]'")
    later = tool_call(1, created="2026-11-22T00:00:00.000000+00:00")
    assert store.tool_log(RUN).keep(later) == store.tool_log().find(later.key) == later


def test_tools_are_listed_by_version_and_their_calls_among_those_of_models(store):
    keep(store, call(7), call(1))
    kept(store, tool_call(3), tool_call(8), tool_call(2, version=""), tool_call(2, tool="cube"))
    moment = "2026-11-21T14:32:0{}.000000+00:00"
    assert store.recordings.by_tool() == [
        ToolCallSummary(tool="cube", version="1", calls=1, newest=moment.format(2)),
        ToolCallSummary(tool="square", version="", calls=1, newest=moment.format(2)),
        ToolCallSummary(tool="square", version="1", calls=2, newest=moment.format(8)),
    ]
    names = [one.model for one in store.recordings.newest()]
    assert names[:3] == ["square 1 (a tool)", MODEL, "square 1 (a tool)"]
    assert sorted(names[3:5]) == ["cube 1 (a tool)", "square (a tool)"], "those of one moment stand in any order"
    assert names[5:] == [MODEL]
    assert [one.model for one in store.recordings.newest(limit=2)] == names[:2]
    assert [one.model for one in store.recordings.newest("cube")] == ["cube 1 (a tool)"]
    assert [one.key for one in store.recordings.newest(tool_call(8).key[:15])] == [tool_call(8).key]
    assert [one.words for one in store.recordings.newest('"number":8')] == ['{"number":8,"unit":"\\u00e9\\ud800"}']


@pytest.mark.parametrize(
    ("conditions", "left"),
    [
        pytest.param({}, (0, 0), id="all"),
        pytest.param({"tool": "square"}, (2, 1), id="of one tool"),
        pytest.param({"tool": "other"}, (2, 3), id="of a tool that is not there"),
        pytest.param({"model": MODEL}, (0, 3), id="of one model"),
        pytest.param({"failed_only": True}, (2, 3), id="those that failed"),
        pytest.param({"older_than": datetime(2026, 11, 21, 14, 32, 5, tzinfo=UTC)}, (1, 2), id="older ones"),
        pytest.param({"tool": "square", "model": MODEL}, (2, 3), id="of a tool and of a model at once"),
    ],
)
def test_what_is_forgotten(store, conditions, left):
    keep(store, call(1), call(7))
    kept(store, tool_call(2), tool_call(8), tool_call(9, tool="cube"))
    assert store.recordings.clear(**conditions) == 5 - sum(left)
    assert (store.check().calls, store.check().tool_calls) == left


# As a file.


@pytest.fixture
def file(store, tmp_path):
    keep(store, call(1), call(2))
    kept(store, *map(tool_call, (5, 3, 4)))
    kept(store, tool_call(6, arguments={"token": "t"}))
    assert store.recordings.export(tmp_path / "recorded.jsonl") == 6
    return tmp_path / "recorded.jsonl"


@pytest.fixture
def empty(tmp_path):
    with open_store(tmp_path / "empty.db") as store:
        yield store


def test_what_is_exported_can_be_replayed_where_it_is_imported(file, empty, tmp_path):
    assert empty.recordings.add(file) == (6, 0)
    assert empty.recordings.add(file) == (0, 6)
    for number in (3, 4, 5):
        assert empty.tool_log().find(tool_call(number).key) == tool_call(number)
    assert empty.tool_log().find(tool_call(6, arguments={"token": "t"}).key).altered
    empty.recordings.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()


def test_calls_of_tools_stand_after_those_of_models_by_their_keys(file):
    lines = file.read_text("ascii").splitlines()
    assert lines[0] == HEAD
    keys = [json.loads(line)["key"] for line in lines[1:]]
    assert keys == sorted(keys)
    assert [key.startswith("tool-") for key in keys] == [False] * 2 + [True] * 4


@pytest.fixture
def second(store, file):
    """A run that has recorded one call, and whose results name one of another run."""
    store.start(sample.run("second"))
    kept(store, tool_call(20), run="second")
    (trial,) = sample.trials([sample.case(1)])
    result = sample.answered(trial)
    named = replace(result.output, metadata={"calls": [tool_call(3).key]})
    asyncio.run(store.sink("second").write([replace(result, output=named)]))
    store.finish(sample.run("second", status="complete"))


@pytest.mark.parametrize(
    ("conditions", "numbers"),
    [
        pytest.param({"tool": "square"}, {3, 4, 5, 6, 20}, id="of one tool"),
        pytest.param({"run": "second"}, {3, 20}, id="of a run: what it recorded, and what its results name"),
        pytest.param({"run": "second", "tool": "square"}, {3, 20}, id="of one tool of a run"),
    ],
)
def test_a_part_can_be_exported(store, second, tmp_path, conditions, numbers):
    assert store.recordings.export(tmp_path / "part.jsonl", **conditions) == len(numbers)
    lines = (tmp_path / "part.jsonl").read_text("ascii").splitlines()[1:]
    assert {int(json.loads(line)["input"].split()[2]) for line in lines} == numbers


def test_of_one_model_no_tool_is_exported(store, second, tmp_path):
    assert store.recordings.export(tmp_path / "part.jsonl", model=MODEL) == 2


def line(number: int = 1, **changes) -> str:
    """A line of a file; a field that is changed to `...` is left out."""
    one = tool_call(number)
    names = ("key", "tool", "version", "arguments", "input", "result")
    fields = {name: getattr(one, name) for name in names} | changes
    return json.dumps({name: value for name, value in fields.items() if value is not ...})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(line(arguments={"number": 2}), "the line was changed", id="other arguments"),
        pytest.param(line(input="What is 2?"), "the line was changed", id="another input"),
        pytest.param(line(tool="cube"), "the line was changed", id="another tool"),
        pytest.param(line(version="2"), "the line was changed", id="another version"),
        pytest.param(line(key="tool-" + "0" * 32), "the line was changed", id="another key"),
        pytest.param(
            line(key="x", altered=True), "the key 'x' is not the key of a tool call", id="a key of another form"
        ),
        pytest.param(line(result=...), "is not a recorded tool call", id="no result"),
        pytest.param(line(more=1), "an unknown field 'more'", id="a field too many"),
        pytest.param(line(altered=1), "in the place of true or false", id="altered is a number"),
        pytest.param(line(tool=3), "in the place of a text", id="a tool that is a number"),
        pytest.param(line(created=3), "in the place of a text", id="a date that is a number"),
        pytest.param(line() + "\n" + line(), "occurs a second time; the first one is in line 3", id="a line twice"),
        pytest.param(line()[:-1], "recorded.jsonl:3", id="a line that was cut off"),
    ],
)
def test_a_line_that_may_not_be_used_is_refused_with_its_place_and_nothing_is_imported(empty, tmp_path, text, says):
    path = tmp_path / "recorded.jsonl"
    path.write_text(f"{HEAD}\n{line(9)}\n{text}\n")
    with pytest.raises(DataError) as error:
        empty.recordings.add(path)
    assert says in str(error.value)
    assert str(error.value).startswith(f"{path}:")
    assert empty.recordings.by_tool() == []


def test_a_key_of_ones_own_may_stand_beside_other_arguments(empty, tmp_path):
    path = tmp_path / "recorded.jsonl"
    path.write_text(f"{HEAD}\n{line(arguments={'url': '/'}, altered=True)}\n")
    assert empty.recordings.add(path) == (1, 0)
    assert empty.tool_log().find(tool_call(1).key).arguments == {"url": "/"}


@in_a_file
def test_an_import_puts_a_damaged_recording_right(file, store, path):
    change(path, "result = '[]' where number = 1")
    assert store.recordings.add(file).added == 1
    assert store.tool_log().find(tool_call(5).key) == tool_call(5)


# When something is wrong.


@in_a_file
def test_recordings_of_a_damaged_store_are_saved(store, path, tmp_path):
    kept(store, *map(tool_call, range(5)))
    change(path, "result = '[]' where number = 2")
    store.close()
    saved = salvage(path, tmp_path / "saved.db")
    assert (saved.calls, saved.lost) == (4, 1)
    with open_store(tmp_path / "saved.db") as other:
        assert [other.tool_log().find(tool_call(n).key) for n in (0, 2)] == [tool_call(0), tool_call(2)]


def test_a_run_that_is_forgotten_leaves_its_recordings(store, path):
    kept(store, tool_call(1))
    store.finish(sample.run(status="complete"))
    store.forget(RUN)
    assert store.tool_log().find(tool_call(1).key) == tool_call(1)


@in_a_file
def test_a_full_store_keeps_what_was_acknowledged(path):
    with open_store(path, max_pages=60) as store:
        done = []

        def fill() -> None:
            for number in range(100):
                kept(store, tool_call(number, result="x" * 20_000), run=None)
                done.append(number)

        with pytest.raises(StoreFullError, match=r"the disk is full: the result of a tool needs about \d+ kB"):
            fill()
        assert 3 < len(done) < 50
        assert all(store.tool_log().find(tool_call(n).key).result == "x" * 20_000 for n in done)


def record_all(path, name: str, start, told) -> None:
    with open_store(path) as store:
        start.wait()
        told.put([store.tool_log().keep(tool_call(n, result=f"{name} {n}", created=name)) for n in range(30)])


def test_processes_that_record_the_same_keys_all_go_on_with_the_same_results(path):
    open_store(path).close()
    context = multiprocessing.get_context("spawn")
    start, told = context.Barrier(3), context.Queue()
    processes = [context.Process(target=record_all, args=(path, f"p{n}", start, told)) for n in range(3)]
    for process in processes:
        process.start()
    found = [told.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    with open_store(path, read_only=True) as store:
        assert found == [[store.tool_log().find(tool_call(n).key) for n in range(30)]] * 3
