"""What is kept of calls that hold a secret: found by their key, and never a reply that nobody gave."""

import asyncio
from dataclasses import replace

import pytest

from evalmark import ToolCall, Turn
from evalmark.core.values.call import Call, Reply, Request, Token
from evalmark.core.values.tool import ToolRecording, tool_key
from evalmark.errors import DataError
from evalmark.inputs.secrets.fields import MASK
from evalmark.store import open_store

KEY = "k-4711/aB3+9f8e7d6c"
IDENTITY = "test/model@http://127.0.0.1"


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setenv("DEMO_API_KEY", KEY)


def call(asked="Where?", said="There.", **more):
    request = Request(messages=(Turn(role="user", content=asked),), settings={"seed": 1})
    reply = Reply(text=said, **more)
    return Call(key=request.key(IDENTITY), model="test/model", identity=IDENTITY, request=request, reply=reply)


def kept(store, one):
    async def keep(journal):
        return await journal.keep(one), await journal.find(one.key)

    return asyncio.run(keep(store.call_log()))


def test_a_reply_without_a_secret_is_found_again_though_the_request_held_one(tmp_path):
    with open_store(tmp_path / "a.db") as store:
        one = call(f"use {KEY}\nand tell", "done")
        masked, found = kept(store, one)
        assert masked is None
        assert found.text == "done"
        stored = store.recordings.call(one.key)
        assert stored.request.messages[0].content == f"use {MASK}\nand tell"
        assert (stored.masked, stored.can_be_replayed) == (False, True)
        store.recordings.export(tmp_path / "calls.jsonl")
    assert KEY.encode() not in (tmp_path / "calls.jsonl").read_bytes()
    with open_store(tmp_path / "b.db") as other:
        assert other.recordings.add(tmp_path / "calls.jsonl").added == 1
        assert kept(other, call("else"))[1].text == "There."
        assert other.recordings.call(one.key).reply.text == "done"


def test_a_line_that_was_changed_and_does_not_say_so_is_refused(tmp_path):
    with open_store(tmp_path / "a.db") as store:
        kept(store, call("Where?"))
        store.recordings.export(tmp_path / "calls.jsonl")
    text = (tmp_path / "calls.jsonl").read_text(encoding="ascii")
    (tmp_path / "calls.jsonl").write_text(text.replace("Where?", "When?"), encoding="ascii")
    with open_store(tmp_path / "b.db") as other, pytest.raises(DataError, match="the line was changed"):
        other.recordings.add(tmp_path / "calls.jsonl")


@pytest.mark.parametrize(
    "more",
    [
        {"said": f"it is {KEY}"},
        {"said": "", "reasoning": f"it is {KEY[:-1]}"},
        {"data": {"a": [KEY]}},
        {"data": {KEY: 1}},
        {"tool_calls": (ToolCall(name="f", arguments={"with": KEY}),)},
        {"said": f"a {MASK}"},
    ],
)
def test_a_reply_with_a_secret_is_kept_without_it_and_not_found(tmp_path, more):
    tokens = tuple(Token(letter, -0.1) for letter in KEY)
    with open_store(tmp_path / "a.db") as store:
        one = call(**more, tokens=tokens)
        masked, found = kept(store, one)
        assert masked.masked
        assert found is None
        stored = store.recordings.call(one.key)
        assert (stored.masked, stored.can_be_replayed, stored.reply.tokens) == (True, False, ())
        assert store.recordings.by_model()[0].calls == 1
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()
        assert KEY[:-1].encode() not in file.read_bytes()


def test_an_error_of_a_call_is_kept_without_a_secret(tmp_path):
    with open_store(tmp_path / "a.db") as store:
        one = replace(call(), reply=None, error=f"401 for {KEY}\nAttempt 1: user:password1@host")
        kept(store, one)
        assert store.recordings.call(one.key).error == f"401 for {MASK}\nAttempt 1: user:{MASK}@host"


def test_what_a_tool_gave_is_recorded_where_it_holds_no_secret(tmp_path):
    def recording(given, result):
        return ToolRecording(
            key=tool_key("f", "", {"x": given}, "in"), tool="f", arguments={"x": given}, input="in", result=result
        )

    with open_store(tmp_path / "a.db") as store:
        journal = store.tool_log()
        open_one, asked, told = recording("a", "b"), recording(KEY, "c"), recording("d", [KEY])
        assert [journal.keep(one).result for one in (open_one, asked, told)] == ["b", "c", [KEY]]
        assert journal.find(open_one.key).result == "b"
        assert (journal.find(asked.key).result, journal.find(asked.key).arguments) == ("c", {"x": MASK})
        assert journal.find(told.key) is None
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()
