"""Recordings as a file: two exports are the same bytes, secrets stay out, and a line that was changed is refused."""

import asyncio
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalmark import Turn
from evalmark.core.values.call import Attempt, Call, Request
from evalmark.errors import DataError, StoreError, StoreFullError
from evalmark.storage.call_log.recording_file import read_calls
from evalmark.storage.call_log.rows import decode_call
from evalmark.store import open_store

from .calls import MODEL, as_meant, call, cut_off, failed, key, reply, troubled
from .conftest import RUN, find, keep
from .test_stored_log import replies, requests

HEAD = '{"format":"evalmark-calls","version":1}'


@pytest.fixture
def recorded(store):
    keep(store, *map(call, range(6)), failed(6), cut_off(7), troubled(8))
    return store


@pytest.fixture
def file(recorded, tmp_path) -> Path:
    path = tmp_path / "recorded.jsonl"
    assert recorded.recordings.export(path) == 7
    return path


@pytest.fixture
def empty(tmp_path):
    with open_store(tmp_path / "empty.db") as store:
        yield store


def test_what_is_exported_can_be_replayed_where_it_is_imported(file, empty):
    assert empty.recordings.add(file) == (7, 0)
    for number in range(6):
        assert find(empty, key(number)) == call(number).replayed
        assert empty.recordings.call(key(number)) == call(number)
    assert empty.recordings.call(key(8)).reply == replace(reply(8), attempts=())
    assert find(empty, key(6)) is find(empty, key(7)) is None
    assert [spent.calls for spent in empty.recordings.by_model()] == [7]


def test_importing_again_changes_nothing(file, empty):
    empty.recordings.add(file)
    assert empty.recordings.add(file) == (0, 7)


def test_two_exports_are_the_same_bytes_whatever_the_order_they_were_kept_in(file, tmp_path):
    with open_store(tmp_path / "other.db") as other:
        for number in (8, 3, 5, 0, 4, 1, 2):
            keep(other, troubled(8) if number == 8 else call(number), run=None)
        other.recordings.export(tmp_path / "other.jsonl")
    assert (tmp_path / "other.jsonl").read_bytes() == file.read_bytes()
    keys = [json.loads(line)["key"] for line in file.read_text("ascii").splitlines()[1:]]
    assert keys == sorted(keys)
    assert file.read_text("ascii").splitlines()[0] == HEAD


def test_what_is_imported_is_exported_as_it_was(file, empty, tmp_path):
    empty.recordings.add(file)
    empty.recordings.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        pytest.param({"model": "other"}, [21], id="of one model"),
        pytest.param({"run": "second"}, [20], id="of one run"),
        pytest.param({"run": "last"}, [20], id="of the newest run"),
        pytest.param({"run": RUN, "model": MODEL}, [0, 1, 2, 3, 4, 5, 8], id="of one run and model"),
    ],
)
def test_some_of_the_calls_can_be_exported(recorded, tmp_path, conditions, found):
    from tests.storage.store import sample

    recorded.start(sample.run("second"))
    keep(recorded, call(20), run="second")
    keep(recorded, call(21, model="other"), run=None)
    assert recorded.recordings.export(tmp_path / "some.jsonl", **conditions) == len(found)
    rows = read_calls(tmp_path / "some.jsonl")
    assert sorted(row.key for row in rows) == sorted(key(number) for number in found)


@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param({"model": "oth"}, id="half a name is no model"),
        pytest.param({"run": RUN, "model": "other"}, id="of a run that asked another model"),
    ],
)
def test_an_export_that_finds_nothing_is_refused_and_writes_nothing(recorded, tmp_path, conditions):
    keep(recorded, call(21, model="other"), run=None)
    with pytest.raises(StoreError, match=r"some\.jsonl: no recorded call matches the options, so nothing was written"):
        recorded.recordings.export(tmp_path / "some.jsonl", **conditions)
    assert not (tmp_path / "some.jsonl").exists()


def test_the_run_to_export_has_to_be_there(recorded, tmp_path):
    with pytest.raises(StoreError, match="no run 'nothing'"):
        recorded.recordings.export(tmp_path / "some.jsonl", run="nothing")
    assert list(tmp_path.glob("*some*")) == []


SECRET = "sk-canary-4711"  # noqa: S105  none at all


def test_headers_attempts_and_what_replies_were_to_us_stay_at_home(store, tmp_path):
    told = reply(
        1,
        headers={"x-request-id": "req_1", "set-cookie": SECRET, "Authorization": SECRET, "x-ratelimit-remaining": "3"},
        attempts=(Attempt(seconds=1, error=f"key {SECRET} is wrong", status=401, body=f"<p>{SECRET}</p>"),),
        key=SECRET,
        replayed=True,
    )
    keep(store, call(1, reply=told), call(2, reply=None, error=SECRET))
    store.recordings.export(tmp_path / "out.jsonl")
    text = (tmp_path / "out.jsonl").read_text("ascii")
    assert SECRET not in text
    assert json.loads(text.splitlines()[1])["reply"] == {
        "text": "1",
        "usage": {"input_tokens": 10, "output_tokens": 1},
        "cost": 0.25,
        "model": "model-1",
        "headers": {"x-request-id": "req_1"},
    }


def test_headers_and_attempts_that_somebody_wrote_into_a_file_are_left_out(file, empty):
    lines = file.read_text("ascii").splitlines()
    data = json.loads(lines[1])
    data["reply"] |= {"headers": {"cookie": SECRET}, "attempts": [{"seconds": 1, "error": SECRET}], "replayed": True}
    file.write_text("\n".join([HEAD, json.dumps(data)]) + "\n")
    assert empty.recordings.add(file) == (1, 0)
    found = empty.recordings.call(data["key"]).reply
    assert (found.headers, found.attempts, found.replayed) == ({}, (), False)


def changed(line: str, *where: str, to) -> str:
    data = json.loads(line)
    inner = data
    for name in where[:-1]:
        inner = inner[name]
    inner[where[-1]] = to
    return json.dumps(data)


def without(line: str, name: str) -> str:
    return json.dumps({other: value for other, value in json.loads(line).items() if other != name})


OTHER_TEXT = [{"role": "user", "content": "What is 1 squared, really?"}]
TAMPERED = [
    pytest.param(lambda line: changed(line, "reply", "cost", to=-5.0), "cost -5 dollars", id="a cost below nothing"),
    pytest.param(lambda line: changed(line, "reply", "cost", to=1e308), "cost 1e\\+308 dollars", id="a cost that makes every sum infinite"),
    pytest.param(lambda line: changed(line, "request", "messages", to=OTHER_TEXT), "the key does not match", id="what was asked"),
    pytest.param(lambda line: changed(line, "request", "settings", to={}), "the key does not match", id="the settings"),
    pytest.param(lambda line: changed(line, "request", "schema", to={}), "the key does not match", id="a schema that was not asked for"),
    pytest.param(lambda line: changed(line, "identity", to="evil"), "the key does not match", id="who was asked"),
    pytest.param(lambda line: changed(line, "repeat", to=1), "the key does not match", id="for which repeat"),
    pytest.param(lambda line: changed(line, "use", to=1), "the key does not match", id="the which time"),
    pytest.param(lambda line: changed(line, "key", to=key(99)), "the key does not match", id="the key of another call"),
    pytest.param(lambda line: changed(line, "repeat", to=2**70), "have to be counts", id="a repeat beyond all counting"),
    pytest.param(lambda line: changed(line, "repeat", to=-1), "have to be counts", id="a repeat before the first"),
    pytest.param(lambda line: changed(line, "repeat", to=True), "bool in the place of a whole number", id="true for a number"),
    pytest.param(lambda line: changed(line, "reply", "status", to="refused"), "no reply that can be replayed", id="a refusal"),
    pytest.param(lambda line: changed(line, "reply", to=None), "NoneType in the place of an object", id="no reply"),
    pytest.param(lambda line: changed(line, "reply", "usage", "input_tokens", to=-5), "-5 in the place of a count", id="fewer tokens than none"),
    pytest.param(lambda line: changed(line, "reply", "tokens", to=[["a"]]), "in the place of a token", id="a token without its probability"),
    pytest.param(lambda line: changed(line, "reply", "colour", to="red"), "unknown field 'colour'", id="a field that nobody knows"),
    pytest.param(lambda line: changed(line, "error", to="none"), "unknown field 'error'", id="an error"),
    pytest.param(lambda line: changed(line, "key", to=7), "int in the place of a text", id="a number for a text"),
    pytest.param(lambda line: without(line, "request"), "missing 1 required", id="nothing that was asked"),
    pytest.param(lambda line: without(line, "key"), "missing 1 required", id="no key"),
    pytest.param(lambda line: line.replace('"request":', '"key":"x","request":'), "a second time", id="a key that stands twice"),
    pytest.param(lambda line: line.replace('"cost":0.25', '"cost":NaN'), "NaN at", id="NaN"),
    pytest.param(lambda line: line.replace('"cost":0.25', '"cost":1e999'), "too large for a number", id="infinity"),
    pytest.param(lambda line: line[:-9], "not valid JSON", id="half a line"),
    pytest.param(lambda line: "[]", "list in the place of an object", id="a list"),
    pytest.param(lambda line: "", "not valid JSON", id="an empty line"),
    pytest.param(lambda line: line + line, "more text after the end", id="two calls in one line"),
    pytest.param(lambda line: '{"a":' * 120 + "1" + "}" * 120, "nested deeper", id="too deep a nest"),
]  # fmt: skip


@pytest.mark.parametrize(("tamper", "said"), TAMPERED)
def test_a_line_that_was_changed_is_refused_with_its_place_and_nothing_is_imported(file, empty, tamper, said):
    lines = file.read_text("ascii").splitlines()
    lines[3] = tamper(lines[3])
    file.write_text("\n".join(lines) + "\n", encoding="ascii")
    with pytest.raises(DataError, match=said) as error:
        empty.recordings.add(file)
    assert str(error.value).startswith(f"{file}:4")
    assert "\n" not in str(error.value)
    assert empty.check().calls == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"", "is not a file of recorded calls", id="nothing"),
        pytest.param(b"\n", "is not a file of recorded calls", id="an empty line"),
        pytest.param(b'{"id": "1", "input": "x"}\n', "is not a file of recorded calls", id="a dataset"),
        pytest.param(b"[1, 2]\n", "is not a file of recorded calls", id="a list"),
        pytest.param(b'{\n  "data": []\n}\n', "`evalmark cache export` writes them", id="an object over several lines"),
        pytest.param(b"id,input\n", "is not a file of recorded calls", id="CSV"),
        pytest.param(HEAD.replace("1", "2").encode(), "a newer evalmark wrote this file .version 2", id="a newer version"),
        pytest.param(HEAD.replace("1", "true").encode(), "is not that of version 1", id="no version"),
        pytest.param(HEAD.replace("}", ',"a":1}').encode(), "is not that of version 1", id="something more"),
        pytest.param(HEAD.encode() + b"\n\xe9\n", "is not UTF-8", id="another encoding"),
        pytest.param(b"SQLite format 3\x00" * 40, "is not a file of recorded calls", id="a store"),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_named(tmp_path, empty, content, said):
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said) as error:
        empty.recordings.add(path)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path, empty):
    with pytest.raises(DataError, match="there is no such file"):
        empty.recordings.add(tmp_path / "none.jsonl")


def test_the_same_key_twice_is_refused_with_both_places(file, empty):
    lines = file.read_text("ascii").splitlines()
    file.write_text("\n".join([*lines, lines[2]]) + "\n")
    with pytest.raises(DataError, match=r"recorded.jsonl:9: the key .* a second time; the first one is in line 3\."):
        empty.recordings.add(file)
    assert empty.check().calls == 0


def test_line_ends_of_windows_and_a_byte_order_mark_are_no_change(file, empty):
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert empty.recordings.add(file) == (7, 0)


def test_a_recording_that_is_there_stays_and_one_that_could_not_be_replayed_is_replaced(file, empty):
    own = call(1, reply=reply(1, reasoning="our own"))
    keep(empty, own, failed(2), run=None)
    assert empty.recordings.add(file) == (6, 1)
    assert empty.recordings.call(key(1)) == own
    assert empty.recordings.call(key(2)) == call(2)


def test_a_full_store_takes_no_half_of_a_file(file, tmp_path):
    lines = [HEAD]
    for number in range(300):
        made = call(number)
        request = {"messages": [{"role": t.role, "content": t.content} for t in made.request.messages]}
        request["settings"] = dict(made.request.settings)
        reply = {"text": "x" * 2_000}
        lines.append(
            json.dumps({"key": made.key, "model": "m", "identity": made.identity, "request": request, "reply": reply})
        )
    file.write_text("\n".join(lines) + "\n")
    with open_store(tmp_path / "small.db", max_pages=60) as store:
        with pytest.raises(StoreFullError, match=r"the recordings needs about 6\d\d kB"):
            store.recordings.add(file)
        assert store.check().calls == 0


def test_an_export_that_cannot_be_written_leaves_the_older_file_as_it_was(recorded, tmp_path, path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="folder: this is a folder; name a file in it"):
        recorded.recordings.export(tmp_path / "folder")
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        recorded.recordings.export(tmp_path / "none" / "out.jsonl")
    target = tmp_path / "out.jsonl"
    target.write_text(HEAD)
    import apsw

    db = apsw.Connection(str(path))
    db.execute("update call set reply = replace(reply, '25', '24') where key = ?", (key(3),))
    db.close()
    with pytest.raises(StoreError, match=r"the recorded call .* is damaged"):
        recorded.recordings.export(target)
    assert target.read_text() == HEAD
    assert sorted(file.name for file in tmp_path.iterdir()) == [".evalmark", "folder", "out.jsonl"]


# Any call there and back, and any garbage.


@given(requests, replies, st.integers(0, 5), st.integers(0, 5))
@settings(max_examples=60)
def test_any_call_survives_the_file(tmp_path_factory, request_, reply_, repeat, use):
    folder = tmp_path_factory.mktemp("there")
    made = Call(
        key=request_.key("who", repeat, use),
        model="m",
        identity="who",
        request=request_,
        repeat=repeat,
        use=use,
        reply=replace(reply_, status="ok", key="", replayed=False, attempts=(), headers={}),
    )
    with open_store(folder / "a.db") as store:
        asyncio.run(store.call_log().keep(made))
        store.recordings.export(folder / "a.jsonl")
    (row,) = read_calls(folder / "a.jsonl")
    assert decode_call(row) == replace(made, request=as_meant(request_))


def line() -> str:
    asked = Request(messages=(Turn(role="user", content="a"),))
    made = {
        "key": asked.key("i"),
        "model": "m",
        "identity": "i",
        "request": {"messages": [{"role": "user", "content": "a"}]},
    }
    return json.dumps(made | {"reply": {"text": "b", "tokens": [["b", -0.5, [["c", "-inf"]]]], "cost": 1}})


WHOLE = f"{HEAD}\n{line()}\n".encode()


def test_the_file_that_is_fuzzed_is_a_good_one(tmp_path):
    (tmp_path / "f.jsonl").write_bytes(WHOLE)
    assert len(read_calls(tmp_path / "f.jsonl")) == 1


def take(content: bytes, folder: Path) -> None:
    """Whatever a file holds, it is read or refused by name."""
    path = folder / "fuzzed.jsonl"
    path.write_bytes(content)
    rows, said = [], str(path)
    try:
        rows = read_calls(path)
    except DataError as fault:
        said = str(fault)
    assert str(path) in said
    for row in rows:
        made = decode_call(row)
        assert made.request.key(made.identity, made.repeat, made.use) == made.key
        assert made.can_be_replayed


@given(st.binary(max_size=200))
@example(b'{"format":"evalmark-calls","version":1}\n{"key":"a"')
@settings(max_examples=200)
def test_garbage_is_refused_by_name(tmp_path_factory, content):
    folder = tmp_path_factory.getbasetemp()
    take(content, folder)
    take(HEAD.encode() + b"\n" + content, folder)


@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 6), st.binary(max_size=6))
@settings(max_examples=400)
def test_any_change_of_a_good_file_is_read_or_refused_by_name(tmp_path_factory, at, length, instead):
    take(WHOLE[:at] + instead + WHOLE[at + length :], tmp_path_factory.getbasetemp())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.sampled_from(["key", "model", "identity", "repeat", "use", "created", "request", "reply"]),
    st.sampled_from(
        ["", "messages", "schema", "settings", "logprobs", "text", "usage", "tokens", "tool_calls", "headers"]
    ),
    json_values,
)
@settings(max_examples=300)
def test_any_value_in_the_place_of_another_is_read_or_refused_by_name(tmp_path_factory, name, inner, value):
    data = json.loads(line())
    if inner and isinstance(data.get(name), dict):
        data[name][inner] = value
    else:
        data[name] = value
    take(f"{HEAD}\n{json.dumps(data)}\n".encode(), tmp_path_factory.getbasetemp())


@pytest.mark.sweep
def test_a_flipped_bit_anywhere_is_read_or_refused_by_name(tmp_path):
    choose = random.Random(5)  # noqa: S311
    for at in range(len(WHOLE)):
        for _ in range(8):
            flipped = bytearray(WHOLE)
            flipped[at] ^= choose.randrange(1, 256)
            take(bytes(flipped), tmp_path)
