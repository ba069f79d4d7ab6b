"""Calls are durable before anything uses them, and what is recorded is not asked again."""

import asyncio
from contextlib import contextmanager
from dataclasses import replace

import pytest

from evalmark.core.context.trial_context import TrialContext, trial_context
from evalmark.core.values.call import Attempt
from evalmark.errors import ModelCallError, NotRecordedError, RunStoppedError, StoreError
from evalmark.models.middleware.call_config import wrap_model
from evalmark.models.middleware.logged_model import LoggedModel, request_announcer
from evalmark.models.middleware.meter import Budget, Meter
from evalmark.models.middleware.replay import ReplayingModel
from evalmark.models.middleware.throttle import LimitedModel, Throttle
from evalmark.testing.memory import MemoryCallLog
from evalmark.testing.virtual_time import run_in_virtual_time

from .asking import OPENAI, ask, closed, conditions, fault, limit, reply
from .watched import Watched


def recorded(model, journal, mode="auto", **more):
    return ReplayingModel(LoggedModel(model, journal), journal, mode, **more)


def texts(model, *requests, repeat=0):
    """What one trial hears to its requests, one after the other."""

    async def trial():
        with trial_context(TrialContext(repeat)):
            return [(await model(request)).text for request in requests]

    return run_in_virtual_time(trial())


@contextmanager
def one_line(error):
    with pytest.raises(error) as caught:
        yield caught
    assert "\n" not in str(caught.value)


def test_a_reply_is_durable_before_anyone_has_it():
    events = []

    class Slow(MemoryCallLog):
        async def keep(self, call):
            await asyncio.sleep(1.0)
            events.append("kept")
            await super().keep(call)

    async def main():
        await LoggedModel(Watched(["Paris"]), Slow())(ask())
        events.append("used")

    run_in_virtual_time(main())
    assert events == ["kept", "used"]


def test_a_kept_call_says_who_was_asked_what_and_when():
    journal, model = MemoryCallLog(), Watched(["Paris"], **OPENAI)
    found = run_in_virtual_time(LoggedModel(model, journal)(ask()))
    (call,) = journal.calls
    assert (call.model, call.identity, call.request) == (model.name, model.identity, ask())
    assert (call.reply, call.error, call.key) == (found, None, found.key)
    assert call.key == ask().key(model.identity)
    assert call.created.endswith("+00:00")


def test_an_error_is_kept_with_all_its_attempts():
    journal = MemoryCallLog()
    error = ModelCallError(
        "openai: answered 503 Service Unavailable.",
        fault="transient",
        attempts=(
            Attempt(seconds=60.0, error="no complete response within 60 s"),
            Attempt(seconds=0.5, error="answered 503", status=503, body="<html>busy</html>"),
        ),
    )
    with pytest.raises(ModelCallError):
        run_in_virtual_time(LoggedModel(Watched([error]), journal)(ask()))
    assert journal.calls[0].error == (
        "openai: answered 503 Service Unavailable.\n"
        "Attempt 1, no response after 60.00 s: no complete response within 60 s\n"
        "Attempt 2, status 503 after 0.50 s: answered 503\n"
        "<html>busy</html>"
    )
    assert journal.in_flight == set()


def test_an_error_after_very_many_attempts_keeps_the_last_bodies():
    attempt = Attempt(seconds=0.1, error="answered 429", status=429, body="x" * 4_096)
    error = ModelCallError("a limit", fault="transient", attempts=(attempt,) * 200)
    journal = MemoryCallLog()
    with pytest.raises(ModelCallError):
        run_in_virtual_time(LoggedModel(Watched([error]), journal)(ask()))
    assert 6 * 4_096 < len(journal.calls[0].error) < 50_000


def test_a_run_that_is_stopped_keeps_nothing():
    journal = MemoryCallLog()
    with pytest.raises(RunStoppedError):
        run_in_virtual_time(LoggedModel(Watched([RunStoppedError("the budget is reached")]), journal)(ask()))
    assert journal.calls == []


def test_a_call_that_comes_back_with_the_end_of_the_run_is_kept_and_no_longer_under_way():
    journal = MemoryCallLog()
    limited = LimitedModel(Watched([closed()]), Throttle(), request_announcer(journal))
    with pytest.raises(RunStoppedError):
        run_in_virtual_time(LoggedModel(limited, journal)(ask()))
    (call,) = journal.calls
    assert "Attempt 1, status 401" in call.error
    assert journal.in_flight == set()


def test_a_journal_that_cannot_be_written_ends_the_run_before_more_is_paid_for():
    class Broken(MemoryCallLog):
        async def sending(self, key):
            raise StoreError("the disk is gone")

    model = Watched()
    with one_line(RunStoppedError) as caught:
        run_in_virtual_time(wrap_model(model, conditions(call_log=Broken()))(ask()))
    assert str(caught.value) == "No further model calls are made because the call log cannot be used: the disk is gone"
    assert model.requests == []
    with one_line(RunStoppedError):
        run_in_virtual_time(wrap_model(model, conditions(call_log=MemoryCallLog(full_after=0)))(ask()))


def test_a_journal_that_cannot_be_read_ends_the_run_too():
    class Broken(MemoryCallLog):
        async def find(self, key):
            raise StoreError("the disk is gone")

    model = Watched()
    with one_line(RunStoppedError) as caught:
        run_in_virtual_time(wrap_model(model, conditions(call_log=Broken()))(ask()))
    assert str(caught.value) == "No further model calls are made because the call log cannot be used: the disk is gone"
    assert model.requests == []


def test_the_journal_hears_of_a_request_when_it_goes_out_and_not_while_it_waits():
    journal = MemoryCallLog()
    model = Watched(seconds=1.0)
    limited = LimitedModel(model, Throttle(), request_announcer(journal))
    held = conditions(throttle=Throttle(), call_log=journal)

    async def main():
        first = await held.throttle.acquire()
        held.throttle.record_failure(first, limit(10.0))
        call = asyncio.create_task(wrap_model(model, held)(ask()))
        await asyncio.sleep(5.0)
        waiting = len(journal.in_flight)
        await asyncio.sleep(5.5)
        going = len(journal.in_flight)
        await call
        return waiting, going, len(journal.in_flight)

    assert run_in_virtual_time(main()) == (0, 1, 0)
    run_in_virtual_time(limited(ask()))  # a request without a key is nobody's call
    assert len(journal.sent) == 1


def test_what_is_recorded_is_not_asked_again():
    journal, model, meter = MemoryCallLog(), Watched(["Paris", "Lyon"]), Meter()
    first = run_in_virtual_time(recorded(model, journal)(ask()))
    again = run_in_virtual_time(recorded(model, journal, meter=meter)(ask()))
    assert (first.replayed, again) == (False, replace(first, replayed=True))
    assert len(model.requests) == len(journal.calls) == 1
    assert (meter.spending()[0].replayed, meter.spending()[0].calls) == (1, 0)


def test_a_recording_out_of_a_file_says_under_which_key_it_is_kept():
    journal = MemoryCallLog()
    texts(recorded(Watched(), journal), ask())
    (call,) = journal.calls
    handed_on = MemoryCallLog()
    asyncio.run(handed_on.keep(replace(call, reply=replace(call.reply, key=""))))
    found = asyncio.run(recorded(Watched(), handed_on, "strict")(ask()))
    assert (found.key, found.replayed) == (call.key, True)


def test_what_is_recorded_counts_as_replayed_and_against_no_budget():
    given = conditions(call_log=MemoryCallLog(), meter=Meter(Budget(max_calls=1)))
    model = Watched(["Paris"])
    assert [texts(wrap_model(model, given), ask()) for _ in range(3)] == [["Paris"]] * 3
    (spent,) = given.meter.spending()
    assert (spent.calls, spent.replayed) == (1, 2)


@pytest.mark.parametrize("status", ["truncated", "refused", "filtered", "empty"])
def test_a_reply_that_is_not_whole_is_asked_for_again(status):
    journal, model = MemoryCallLog(), Watched([reply("Par", status=status), "Paris"])
    first = run_in_virtual_time(recorded(model, journal)(ask()))
    again = run_in_virtual_time(recorded(model, journal)(ask()))
    assert (first.status, again.text, again.replayed) == (status, "Paris", False)


def test_an_error_is_asked_again():
    journal, model = MemoryCallLog(), Watched([fault(), "Paris"])
    with pytest.raises(ModelCallError):
        run_in_virtual_time(recorded(model, journal)(ask()))
    assert run_in_virtual_time(recorded(model, journal)(ask())).text == "Paris"


def test_repeats_and_repeated_questions_of_a_trial_are_calls_of_their_own():
    journal, model = MemoryCallLog(), Watched(["1", "2", "3", "4"])
    asked = recorded(model, journal)
    assert texts(asked, ask(), ask()) == ["1", "2"]
    assert texts(asked, ask(), ask(), repeat=1) == ["3", "4"]
    assert texts(asked, ask(), ask()) == ["1", "2"]  # another case with the same question, or the run resumed
    assert [(call.repeat, call.use) for call in journal.calls] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_two_servers_never_share_a_recording():
    journal = MemoryCallLog()
    one = recorded(Watched(["1"], name="a/m", identity="a/m@http://one"), journal)
    two = recorded(Watched(["2"], name="a/m", identity="a/m@http://two"), journal)
    assert (texts(one, ask()), texts(two, ask()), texts(one, ask())) == (["1"], ["2"], ["1"])


def test_record_asks_everything_once_more_and_replaces_what_was_there():
    journal = MemoryCallLog()
    texts(recorded(Watched(["old"]), journal), ask())
    model = Watched(["new", "newest"])
    recording = recorded(model, journal, "record")
    assert texts(recording, ask()) == ["new"]
    assert texts(recording, ask()) == ["new"]  # another case with the same question, as strict replay will have it
    assert texts(recorded(Watched(), journal, "strict"), ask()) == ["new"]
    assert len(model.requests) == 1


def test_record_does_not_lose_a_good_reply_to_an_error():
    journal = MemoryCallLog()
    texts(recorded(Watched(["old"]), journal), ask())
    with pytest.raises(ModelCallError):
        texts(recorded(Watched([fault()]), journal, "record"), ask())
    assert texts(recorded(Watched(), journal, "strict"), ask()) == ["old"]


def test_off_asks_every_time_and_still_keeps_what_was_paid_for():
    journal, model = MemoryCallLog(), Watched(["1", "2"])
    asked = recorded(model, journal, "off")
    assert (texts(asked, ask()), texts(asked, ask())) == (["1"], ["2"])
    assert [call.reply.text for call in journal.calls] == ["1", "2"]


def test_strict_sends_nothing_and_says_what_is_missing_and_how_to_record_it():
    journal, model = MemoryCallLog(), Watched(**OPENAI)
    strict = recorded(model, journal, "strict")
    with one_line(NotRecordedError) as caught:
        texts(strict, ask("What is the capital of\n  " + "France " * 40))
    key = ask("What is the capital of\n  " + "France " * 40).key(model.identity)
    assert str(caught.value) == (
        f"openai/gpt-4o-mini: not recorded at {model.identity}: 'What is the capital of France France France France France "
        f"Fr…'. The call log has no reply to it under the key {key}, and strict replay sends nothing. Run once with "
        "--replay auto at the same address, and commit what `evalmark cache export` writes."
    )
    assert (model.requests, journal.calls, journal.sent) == ([], [], [])


def test_strict_says_when_only_the_first_repeat_is_recorded():
    journal = MemoryCallLog()
    texts(recorded(Watched(), journal), ask())
    with pytest.raises(NotRecordedError, match="no reply for repeat 3 and use 1 of it under the key"):
        texts(recorded(Watched(), journal, "strict"), ask(), repeat=2)


def together(model, count, *, cancel=(), after=0.5):
    """What so many callers hear who ask the same at the same moment, some of whom give up."""

    async def main():
        tasks = [asyncio.create_task(model(ask())) for _ in range(count)]
        await asyncio.sleep(after)
        for number in cancel:
            tasks[number].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    return run_in_virtual_time(main())


@pytest.mark.parametrize("mode", ["auto", "record"])
def test_the_same_question_at_the_same_moment_goes_out_once(mode):
    journal, model, meter = MemoryCallLog(), Watched(["1", "2", "3"], seconds=1.0), Meter()
    found = together(recorded(model, journal, mode, meter=meter), 3)
    assert [(each.text, each.replayed) for each in found] == [("1", False), ("1", True), ("1", True)]
    assert len(model.requests) == len(journal.calls) == 1
    assert meter.spending()[0].replayed == 2


def test_with_off_it_goes_out_as_often_as_it_is_asked():
    found = together(recorded(Watched(["1", "2", "3"], seconds=1.0), MemoryCallLog(), "off"), 3)
    assert [each.text for each in found] == ["1", "2", "3"]


def test_when_the_one_who_sends_it_gives_up_the_next_one_sends_it():
    journal, model = MemoryCallLog(), Watched(["1", "2"], seconds=1.0)
    found = together(recorded(model, journal), 4, cancel=[0])
    assert isinstance(found[0], asyncio.CancelledError)
    assert [each.text for each in found[1:]] == ["2", "2", "2"]
    assert len(model.requests) == 2


def test_one_who_waits_and_gives_up_changes_nothing():
    journal, model = MemoryCallLog(), Watched(["1", "2"], seconds=1.0)
    found = together(recorded(model, journal), 3, cancel=[1])
    assert isinstance(found[1], asyncio.CancelledError)
    assert [found[0].text, found[2].text] == ["1", "1"]
    assert len(model.requests) == 1


def test_those_who_ask_at_the_same_moment_share_an_error_and_nobody_else_does():
    journal, model = MemoryCallLog(), Watched([fault(), "Paris"], seconds=1.0)
    asked = recorded(model, journal)
    found = together(asked, 3)
    assert [type(each) for each in found] == [ModelCallError] * 3
    assert len(model.requests) == 1
    assert texts(asked, ask()) == ["Paris"]


def test_a_reply_that_was_paid_for_is_kept_when_its_caller_gives_up_while_it_is_written():
    journal, model = MemoryCallLog(seconds=1.0), Watched(["1", "2"], seconds=1.0)

    async def main():
        task = asyncio.create_task(recorded(model, journal)(ask()))
        await asyncio.sleep(1.5)
        task.cancel()
        await asyncio.wait({task})
        await asyncio.sleep(1.0)
        return (await recorded(model, journal)(ask())).text

    assert run_in_virtual_time(main()) == "1"
    assert len(model.requests) == 1


def test_without_a_journal_only_the_same_moment_is_shared():
    model = Watched(["1", "2"], seconds=1.0)
    asked = wrap_model(model, conditions())
    assert [each.text for each in together(asked, 3)] == ["1", "1", "1"]
    assert texts(asked, ask()) == ["2"]


class Masking(MemoryCallLog):
    """A call log that finds a secret in every reply."""

    async def keep(self, call):
        await super().keep(call)
        return replace(call, masked=True)


@pytest.mark.parametrize(
    ("answer", "journal", "is_unreplayable"),
    [
        pytest.param("Paris", MemoryCallLog, False, id="a reply that is replayed"),
        pytest.param(reply("Par", status="truncated"), MemoryCallLog, True, id="a reply that was cut off"),
        pytest.param(reply("", status="empty"), MemoryCallLog, True, id="an empty reply"),
        pytest.param(fault(400, kind="rejected"), MemoryCallLog, True, id="an error"),
        pytest.param("sk-secret", Masking, True, id="a reply with a secret"),
    ],
)
def test_a_trial_knows_whether_one_of_its_calls_cannot_be_replayed(answer, journal, is_unreplayable):
    async def trial():
        context = TrialContext()
        with trial_context(context):
            await asyncio.gather(recorded(Watched([answer]), journal())(ask()), return_exceptions=True)
        return context.has_unreplayable_call

    assert run_in_virtual_time(trial()) is is_unreplayable


def test_a_trial_that_shares_a_call_with_another_one_counts_it_as_unreplayable():
    model = recorded(Watched([reply("Par", status="truncated")], seconds=1.0), MemoryCallLog())

    async def trial():
        context = TrialContext()
        with trial_context(context):
            await model(ask())
        return context.has_unreplayable_call

    async def both():
        return await asyncio.gather(trial(), trial())

    assert run_in_virtual_time(both()) == [True, True]
