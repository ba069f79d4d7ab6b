"""What every journal promises, as tests: a journal's own test class inherits these and says how to open one."""

import asyncio
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from evalmark import ToolCall, Turn
from evalmark.core.protocols import CallLog
from evalmark.core.values.call import Attempt, Call, Reply, Request, Token
from evalmark.core.values.case import Usage

FULL = Reply(
    text="Paris",
    data={"answer": ["Paris", 1, 1.5, None, True], "deep": {"é": "日本"}},
    form="schema",
    reasoning="France, so Paris",
    tool_calls=(ToolCall(name="look_up", arguments={"country": "France"}),),
    usage=Usage(input_tokens=12, output_tokens=3, cached_tokens=4, cache_write_tokens=0, reasoning_tokens=1),
    cost=0.000125,
    model="model-2026-01-01",
    system_fingerprint="fp_1",
    seconds=0.25,
    attempts=(Attempt(seconds=0.1, error="answered 503", status=503, body="<html>busy</html>"),),
    tokens=(Token("Paris", -0.01, (("Paris", -0.01), ("Lyon", -4.5))),),
    headers={"x-request-id": "r-1"},
)
NOT_TRUE = ("truncated", "refused", "filtered", "empty")


def request(text: str = "What is the capital of France?") -> Request:
    return Request(
        messages=(Turn(role="system", content="Answer."), Turn(role="user", content=text)),
        schema={"type": "object", "properties": {"answer": {"type": "array"}}},
        settings={"temperature": 0, "stop": ["\n"], "seed": None},
        logprobs=2,
    )


def call(text: str = "What is the capital of France?", reply: Reply | None = FULL, **more) -> Call:
    asked = request(text)
    key = asked.key("test/model@http://127.0.0.1", more.get("repeat", 0), more.get("use", 0))
    return Call(
        key=key,
        model="test/model",
        identity="test/model@http://127.0.0.1",
        request=asked,
        reply=None if reply is None else replace(reply, key=key),
        **{"created": "2026-01-01T00:00:00.000+00:00", **more},
    )


class JournalContract:
    """Inherit it, and say how to open a journal and how many requests it knows to be under way."""

    def open(self, tmp_path) -> AbstractContextManager[CallLog]:
        """A new journal at this place, or the one that is there already."""
        raise NotImplementedError

    def in_flight(self, journal: CallLog) -> int:
        """How many requests went out and did not come back, as a run that is resumed would print it."""
        raise NotImplementedError

    def test_a_key_that_was_never_kept_is_not_found(self, tmp_path):
        with self.open(tmp_path) as journal:
            assert asyncio.run(journal.find("no such key")) is None

    def test_a_reply_comes_back_as_it_was_kept_and_says_that_it_is_replayed(self, tmp_path):
        kept = call(repeat=2, use=1)
        with self.open(tmp_path) as journal:
            found = asyncio.run(_keep_and_find(journal, kept))
        assert found == replace(kept.reply, key=kept.key, replayed=True)

    def test_a_reply_that_does_not_know_its_key_is_told(self, tmp_path):
        kept = replace(call(), reply=FULL)  # as calls that come in a file
        with self.open(tmp_path) as journal:
            found = asyncio.run(_keep_and_find(journal, kept))
        assert (kept.reply.key, found.key) == ("", kept.key)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="nothing"),
            pytest.param("a\x00b", id="a zero byte"),
            pytest.param("\ud83d alone", id="half of a surrogate pair"),
            pytest.param("👩‍👩‍👧 é e\u0301 \u202e", id="marks that join and turn"),
            pytest.param("x" * 1_000_000, id="a million letters"),
        ],
    )
    def test_any_text_comes_back_as_it_was(self, tmp_path, text):
        kept = call(text, Reply(text=text, reasoning=text))
        with self.open(tmp_path) as journal:
            found = asyncio.run(_keep_and_find(journal, kept))
        assert found is not None
        assert (found.text, found.reasoning) == (text, text)

    @pytest.mark.parametrize("status", NOT_TRUE)
    def test_a_reply_that_is_not_whole_is_never_found(self, tmp_path, status):
        with self.open(tmp_path) as journal:
            assert asyncio.run(_keep_and_find(journal, call(reply=replace(FULL, status=status)))) is None

    def test_an_error_is_never_found(self, tmp_path):
        with self.open(tmp_path) as journal:
            assert asyncio.run(_keep_and_find(journal, call(reply=None, error="answered 500"))) is None

    def test_a_reply_takes_the_place_of_an_error(self, tmp_path):
        with self.open(tmp_path) as journal:
            asyncio.run(journal.keep(call(reply=None, error="answered 500")))
            found = asyncio.run(_keep_and_find(journal, call()))
        assert found is not None
        assert found.text == "Paris"

    @pytest.mark.parametrize(
        "later",
        [pytest.param(call(reply=None, error="answered 500"), id="an error")]
        + [pytest.param(call(reply=replace(FULL, status=status)), id=status) for status in NOT_TRUE],
    )
    def test_what_cannot_be_replayed_does_not_displace_what_can(self, tmp_path, later):
        with self.open(tmp_path) as journal:
            asyncio.run(journal.keep(call()))
            found = asyncio.run(_keep_and_find(journal, later))
        assert found is not None
        assert found == call().replayed

    def test_a_newer_reply_takes_the_place_of_an_older_one(self, tmp_path):
        with self.open(tmp_path) as journal:
            asyncio.run(journal.keep(call()))
            found = asyncio.run(_keep_and_find(journal, call(reply=replace(FULL, text="Paris, of course"))))
        assert found is not None
        assert found.text == "Paris, of course"

    def test_what_went_out_and_did_not_come_back_is_counted(self, tmp_path):
        good, bad = call("one"), call("two", None, error="answered 500")
        with self.open(tmp_path) as journal:
            for key in (good.key, bad.key, call("three").key):
                asyncio.run(journal.sending(key))
            assert self.in_flight(journal) == 3
            asyncio.run(journal.keep(good))
            asyncio.run(journal.keep(bad))
            assert self.in_flight(journal) == 1

    def test_a_second_attempt_of_the_same_request_counts_once(self, tmp_path):
        with self.open(tmp_path) as journal:
            for _ in range(3):
                asyncio.run(journal.sending(call().key))
            assert self.in_flight(journal) == 1

    def test_a_recorded_request_that_goes_out_again_is_still_found(self, tmp_path):
        with self.open(tmp_path) as journal:
            asyncio.run(journal.keep(call()))
            asyncio.run(journal.sending(call().key))
            assert self.in_flight(journal) == 1
            assert asyncio.run(journal.find(call().key)) is not None

    def test_a_call_whose_caller_is_cancelled_meanwhile_is_kept_all_the_same(self, tmp_path):
        calls = [call(str(number)) for number in range(40)]

        async def cancelled(journal):
            tasks = [asyncio.create_task(journal.keep(each)) for each in calls]
            await asyncio.sleep(0)  # all of them have begun
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await journal.keep(call("the last one"))
            return await asyncio.gather(*(journal.find(each.key) for each in calls))

        with self.open(tmp_path) as journal:
            assert None not in asyncio.run(cancelled(journal))

    def test_many_calls_at_once_are_all_kept(self, tmp_path):
        calls = [call(str(number), replace(FULL, text=str(number))) for number in range(300)]

        async def everything(journal):
            await asyncio.gather(*(journal.sending(each.key) for each in calls))
            await asyncio.gather(*(journal.keep(each) for each in calls))
            return await asyncio.gather(*(journal.find(each.key) for each in calls))

        with self.open(tmp_path) as journal:
            found = asyncio.run(everything(journal))
            assert self.in_flight(journal) == 0
        assert [each and each.text for each in found] == [str(number) for number in range(300)]


async def _keep_and_find(journal: CallLog, kept: Call) -> Reply | None:
    await journal.sending(kept.key)
    await journal.keep(kept)
    return await journal.find(kept.key)
