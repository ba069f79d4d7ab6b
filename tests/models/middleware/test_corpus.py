"""Everything that is known to go wrong between a run and a provider, and what the user gets then.

Real requests to a real server on this machine that misbehaves on script; waits are short, all else is as in a run.
"""

import email.utils
import json
import time

import pytest

from evalmark.core.values.call import Reply
from evalmark.errors import ModelCallError, RunStoppedError
from evalmark.models.middleware.meter import Budget
from evalmark.models.middleware.prices import TokenPrices
from evalmark.models.middleware.rate_limits import RateLimits, RetryPolicy
from evalmark.testing.scripted import (
    Cut,
    Delay,
    Endless,
    FinishWith,
    HeadersOnly,
    Huge,
    ModelRefusal,
    NoUsage,
    OddUsage,
    Raw,
    Reset,
    ScriptedReply,
    ScriptedServer,
    Slow,
    Status,
)

from .end_to_end import KEY, MODELS, QUICK, World, timed

PARIS = "Paris"
HOUR = 3_600


def stamp(seconds: float) -> str:
    return email.utils.formatdate(seconds, usegmt=True)


NOON = 1_767_268_800.0


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 520, 529])
def test_f23_a_fault_that_passes_costs_an_attempt_and_nothing_else(provider, status):
    page = "<html><body>Bad gateway</body></html>" if status != 429 else None
    with ScriptedServer([Status(status, {}, page), PARIS]) as server:
        world = World(server=server, provider=provider)
        (found,) = world.ask("The capital of France?")
        assert (found.text, found.status, server.count) == (PARIS, "ok", 2)
        assert [(attempt.status, page in attempt.body if page else True) for attempt in found.attempts] == [
            (status, True)
        ]
        assert world.throttle.max_in_flight == 50
        assert server.problems == []
        (again,) = world.ask("The capital of France?")
    assert (again.text, again.replayed, server.count) == (PARIS, True, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        pytest.param({"retry-after": "0.15"}, 0.15, 0.6, id="seconds"),
        pytest.param({"Retry-After": "0.15"}, 0.15, 0.6, id="another case"),
        pytest.param({"retry-after-ms": "150"}, 0.15, 0.6, id="milliseconds"),
        pytest.param({"x-ratelimit-reset-requests": "150ms"}, 0.15, 0.6, id="the time of a limit"),
        pytest.param({"retry-after": "0"}, 0.0, 0.4, id="no time at all"),
        pytest.param({"retry-after": "-5"}, 0.0, 0.4, id="a time in the past"),
        pytest.param({"retry-after": "soon"}, 0.0, 0.4, id="a word"),
        pytest.param({}, 0.0, 0.4, id="no header"),
    ],
)
def test_f20_nobody_asks_again_before_the_time_that_the_endpoint_names(headers, least, most):
    answer, times = timed([Status(429, headers)])
    with ScriptedServer(answer) as server:
        found = World(server=server, pace=RateLimits(start=1, most=1)).ask(*map(str, range(6)))
    assert [reply.text for reply in found] == [str(number) for number in range(6)]
    first, *later = times
    assert least <= min(later) - first <= most
    assert len(times) == 7


def test_f20_a_time_that_is_too_long_stops_the_run_with_one_sentence():
    with ScriptedServer(lambda said: Status(429, {"retry-after": "1e9"})) as server:
        found = World(server=server, pace=RateLimits(start=2, most=2)).ask(*map(str, range(50)))
    assert server.count == 2
    assert {type(error) for error in found} == {RunStoppedError}
    (message,) = {str(error) for error in found}
    assert message.startswith("openai/some-model: 127.0.0.1:")
    assert message.endswith(
        "answered 429 Too Many Requests: Rate limit reached. The server asks to wait 1,000,000,000 s, "
        "and calls wait at most 300 s. Continue later with --resume."
    )


def test_f20_an_endpoint_that_pauses_leaves_others_alone():
    with ScriptedServer([Status(429, {"retry-after": "0.5"})]) as busy, ScriptedServer() as free:
        waiting, going = World(server=busy), World(server=free)
        started = time.monotonic()
        assert going.ask("a")[0].text == "a"
        assert time.monotonic() - started < 0.4
        waiting.ask("b")


@pytest.mark.parametrize(
    ("date", "after"),
    [
        pytest.param(stamp(NOON), stamp(NOON + 1), id="a server whose clock is months off"),
        pytest.param(stamp(time.time() + 2 * HOUR), stamp(time.time() + 2 * HOUR + 1), id="two hours ahead"),
        pytest.param(stamp(time.time() - 2 * HOUR), stamp(time.time() - 2 * HOUR + 1), id="two hours behind"),
    ],
)
def test_f21_a_date_is_read_by_the_clock_of_the_server(date, after):
    answer, times = timed([Status(429, {"date": date, "retry-after": after})])
    with ScriptedServer(answer) as server:
        (found,) = World(server=server).ask("Paris")
    assert found.text == "Paris"
    assert 1.0 <= times[1] - times[0] < 2.0


@pytest.mark.parametrize("after", [stamp(NOON - 60), "yesterday", "2026-13-45"], ids=["past", "a word", "no date"])
def test_f21_a_date_that_is_past_or_none_is_no_time(after):
    answer, times = timed([Status(429, {"date": stamp(NOON), "retry-after": after})])
    with ScriptedServer(answer) as server:
        World(server=server).ask("Paris")
    assert times[1] - times[0] < 0.5


@pytest.mark.slow
def test_f22_a_storm_of_limits_without_a_time_is_waited_out_at_a_low_rate():
    ends = time.monotonic() + 0.8
    times = []

    def answer(said):
        times.append(time.monotonic())
        return Status(429) if times[-1] < ends else None

    patience = RetryPolicy(first_wait=0.05, most_wait=0.2)
    with ScriptedServer(answer) as server:
        world = World(server=server, patience=patience, pace=RateLimits(start=20, most=20))
        found = world.ask(*map(str, range(60)))
    assert [reply.text for reply in found] == [str(number) for number in range(60)]
    in_the_storm = [moment for moment in times if moment < ends]
    assert len(in_the_storm) < 60  # twenty at once in the first moment, then one now and then
    assert server.most_in_flight <= 20


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("status", [400, 413, 422])
def test_f24_a_request_that_is_refused_is_an_error_of_its_case_alone(provider, status):
    with ScriptedServer(lambda said: Status(status) if said.text == "bad" else None) as server:
        world = World(server=server, provider=provider)
        bad, good = world.ask("bad", "good")
        assert server.count == 2
    assert isinstance(bad, ModelCallError)
    assert (bad.fault, good.text) == ("rejected", "good")
    assert f"answered {status}" in str(bad)
    assert world.call_log.calls[0].error or world.call_log.calls[1].error


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("status", [401, 403, 404])
def test_f24_a_wrong_key_or_model_stops_the_run_after_the_first_requests_with_one_message(provider, status):
    with ScriptedServer(lambda said: Status(status)) as server:
        world = World(server=server, provider=provider, pace=RateLimits(start=4, most=4))
        found = world.ask(*map(str, range(500)))
        assert server.count <= 4
    assert {type(error) for error in found} == {RunStoppedError}
    (message,) = {str(error) for error in found}
    assert f"answered {status}" in message
    assert world.key in message or status == 404
    assert KEY not in message
    assert world.call_log.calls
    assert all(message in str(call.error) for call in world.call_log.calls)
    assert world.call_log.in_flight == set(), "nothing is left that a resumed run would call broken off"


LOST = [
    pytest.param(Reset(), id="a connection that is reset"),
    pytest.param(Cut(0), id="a body that never begins"),
    pytest.param(Cut(1), id="a body of one byte"),
    pytest.param(Cut(40), id="a body that is cut"),
]


@pytest.mark.parametrize("trouble", LOST)
def test_f25_a_connection_that_drops_is_made_anew(trouble):
    with ScriptedServer([trouble, trouble, PARIS]) as server:
        world = World(server=server)
        (found,) = world.ask("The capital of France?")
    assert (found.text, [attempt.status for attempt in found.attempts]) == (PARIS, [None, None])


def test_f25_every_attempt_of_a_call_that_fails_for_good_is_kept():
    with ScriptedServer(lambda said: Reset()) as server:
        world = World(server=server)
        (found,) = world.ask("The capital of France?")
        assert server.count == len(found.attempts) == 6
    assert "It was sent 6 times in" in str(found)
    (call,) = world.call_log.calls
    assert call.error.count("Attempt ") == 6
    assert (call.reply, world.meter.spending()[0].failed) == (None, 1)


def test_f25_a_server_that_was_never_there_stops_the_run():
    with ScriptedServer() as server:
        pass
    patience = RetryPolicy(first_wait=0.01, most_wait=0.02, most_silence=0.2)
    found = World(server=server, patience=patience, pace=RateLimits(start=2, most=2)).ask(
        *map(str, range(200)), workers=2
    )
    assert isinstance(found[-1], RunStoppedError)
    assert "No attempt has had a response for" in str(found[-1])
    assert "Check the address and whether the server is running" in str(found[-1])


ENDLESS = [
    pytest.param(Slow(20), id="a byte now and then"),
    pytest.param(HeadersOnly(), id="only headers"),
    pytest.param(Endless(), id="a body without an end"),
    pytest.param(Delay(30.0, PARIS), id="no answer at all"),
]


@pytest.mark.parametrize("trouble", ENDLESS)
def test_f26_f27_an_attempt_has_a_deadline_and_the_time_told_is_that_of_the_good_one(trouble):
    with ScriptedServer(lambda said: PARIS if said.number else trouble) as server:
        world = World(server=server, within=0.25)
        started = time.monotonic()
        (found,) = world.ask("The capital of France?")
        assert time.monotonic() - started < 5.0
    assert found.text == PARIS
    assert {attempt.status for attempt in found.attempts} == {None}  # one, or two on a machine that is busy
    assert found.seconds < 0.25
    assert world.call_log.calls[0].reply.attempts == found.attempts


def test_f26_a_body_beyond_the_cap_is_not_read():
    with ScriptedServer([Huge(33 << 20), PARIS]) as server:
        (found,) = World(server=server).ask("The capital of France?")
    assert found.text == PARIS
    assert "larger than 32 MiB" in found.attempts[0].error


BODIES = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"{", id="half an object"),
    pytest.param(b"\xef\xbb\xbf{}", id="a byte order mark"),
    pytest.param(b'{"choices": [], "choices": []}', id="a key twice"),
    pytest.param(b"[1, 2]", id="a list"),
    pytest.param(b'{"choices": []}', id="no message"),
    pytest.param(b'{"choices": [{"message": null}]}', id="a message that is null"),
    pytest.param(b'{"error": {"message": "upstream is busy", "code": 502}}', id="an error with status 200"),
    pytest.param(b"<html>ok</html>", id="a page"),
    pytest.param(b'{"id": "\xff"}', id="no UTF-8"),
    pytest.param(b'{"a": NaN}', id="not a number"),
    pytest.param(b"[" * 100_000, id="endless nesting"),
]


@pytest.mark.parametrize("body", BODIES)
def test_f28_a_body_that_is_no_reply_is_a_failed_attempt_whose_text_is_kept(body):
    with ScriptedServer([Raw(body), PARIS]) as server:
        world = World(server=server)
        (found,) = world.ask("The capital of France?")
    assert found.text == PARIS
    (attempt,) = found.attempts
    assert attempt.body == body[:4_096].decode(errors="replace")
    assert attempt.error.startswith("openai/some-model: 127.0.0.1:")


def test_f28_a_content_type_that_is_no_json_is_a_failed_attempt():
    with ScriptedServer([Raw(b"{}", "text/html"), PARIS]) as server:
        (found,) = World(server=server).ask("The capital of France?")
    assert found.text == PARIS
    assert "answered with a web page where JSON was expected" in found.attempts[0].error


STATES = [
    pytest.param("openai", FinishWith("length", "Par"), "truncated", id="F29 cut by a limit, OpenAI"),
    pytest.param("anthropic", FinishWith("max_tokens", "Par"), "truncated", id="F29 cut by a limit, Anthropic"),
    pytest.param("gemini", FinishWith("MAX_TOKENS", "Par"), "truncated", id="F29 cut by a limit, Gemini"),
    pytest.param("openai", ScriptedReply(text=""), "empty", id="F30 empty"),
    pytest.param("openai", ScriptedReply(reasoning="Hmm, France…"), "empty", id="F30 only reasoning"),
    pytest.param("openai", ModelRefusal(), "refused", id="F30 refused, OpenAI"),
    pytest.param("anthropic", FinishWith("refusal", ""), "refused", id="F30 refused, Anthropic"),
    pytest.param("openai", FinishWith("content_filter", ""), "filtered", id="F30 filtered, OpenAI"),
    pytest.param("gemini", FinishWith("SAFETY", ""), "filtered", id="F30 filtered, Gemini"),
]


@pytest.mark.parametrize(("provider", "answer", "status"), STATES)
def test_f29_f30_a_reply_that_is_not_whole_says_so_and_is_never_replayed(provider, answer, status):
    with ScriptedServer([answer, PARIS]) as server:
        world = World(server=server, provider=provider)
        (first,) = world.ask("The capital of France?")
        (second,) = world.ask("The capital of France?")
        assert server.count == 2
    assert (first.status, first.attempts, second.text) == (status, (), PARIS)
    assert [call.reply.status for call in world.call_log.calls] == [status, "ok"]
    assert world.meter.spending()[0].calls == 2  # it was paid for all the same


def test_f31_a_model_that_changes_behind_its_name_is_noted():
    with ScriptedServer(
        [ScriptedReply(text="a", model="some-model-2026-01"), ScriptedReply(text="b", model="some-model-2026-06")]
    ) as server:
        world = World(server=server)
        found = world.ask("one", "two", workers=1)
    assert [reply.model for reply in found] == ["some-model-2026-01", "some-model-2026-06"]
    assert [call.reply.model for call in world.call_log.calls] == ["some-model-2026-01", "some-model-2026-06"]
    (note,) = world.meter.notes()
    assert note.startswith(
        "openai/some-model: 2 models replied under this name (some-model-2026-01, some-model-2026-06)"
    )


ABSURD = {"prompt_tokens": -5, "completion_tokens": 10**12, "total_tokens": 10**12}


@pytest.mark.parametrize("answer", [NoUsage(PARIS), OddUsage(ABSURD, PARIS)], ids=["missing", "absurd"])
def test_f32_usage_that_is_missing_or_absurd_is_unknown_and_the_budget_guesses(answer):
    with ScriptedServer(lambda said: answer) as server:
        world = World(server=server, budget=Budget(max_cost=0.05), rates=TokenPrices(input=1.0, output=10.0))
        found = world.ask(*map(str, range(300)), workers=4)
        replies = [reply for reply in found if isinstance(reply, Reply)]
        assert server.count == len(replies) <= 5 + 4  # a guess is 1,024 tokens of output: a cent
    assert {reply.cost for reply in replies} == {None}
    (spent,) = world.meter.spending()
    assert (spent.cost, spent.unknown_cost, spent.unknown_usage) == (None, len(replies), len(replies))
    (message,) = {str(error) for error in found if not isinstance(error, Reply)}
    assert "The budget of $0.05 is reached" in message
    assert "of it estimated. Go on with a larger --max-cost." in message


def test_f32_a_budget_stops_within_one_call_of_each_worker_and_a_larger_one_goes_on():
    usage = {"prompt_tokens": 1_000, "completion_tokens": 0, "total_tokens": 1_000}
    with ScriptedServer(lambda said: OddUsage(usage, said.text)) as server:
        rates = TokenPrices(input=1_000.0, output=1_000.0)  # a dollar a call
        world = World(server=server, budget=Budget(max_cost=10.0), rates=rates)
        found = world.ask(*map(str, range(100)), workers=4)
        paid = server.count
        assert 10 <= paid <= 14
        more = World(server=server, budget=Budget(max_cost=1_000.0), rates=rates, call_log=world.call_log)
        again = more.ask(*map(str, range(100)), workers=4)
        assert server.count == 100  # nothing that was paid for is paid again
    assert sum(isinstance(each, RunStoppedError) for each in found) == 100 - paid
    assert [reply.text for reply in again] == [str(number) for number in range(100)]
    assert sum(reply.replayed for reply in again) == paid


def test_f39_where_a_judge_fails_now_and_then_the_rest_is_not_lost():
    with ScriptedServer(lambda said: Status(500) if int(said.text) % 10 == 0 else None) as server:
        found = World(server=server).ask(*map(str, range(100)))
    failed = [number for number, each in enumerate(found) if isinstance(each, ModelCallError)]
    assert failed == list(range(0, 100, 10))


@pytest.mark.parametrize("replay", ["auto", "strict"])
def test_f13_what_is_recorded_needs_no_server(replay):
    with ScriptedServer() as server:
        world = World(server=server)
        first = world.ask("one", "two")
    offline = World(server=server, call_log=world.call_log, replay=replay)
    found = offline.ask("one", "two")
    assert [(reply.text, reply.replayed) for reply in found] == [("one", True), ("two", True)]
    assert [reply.key for reply in found] == [reply.key for reply in first]


def test_no_secret_reaches_the_journal_or_a_message():
    trouble = [Status(500, {}, f"your key is {KEY}"), Raw(json.dumps({"error": KEY}).encode()), Status(400, {}, KEY)]
    with ScriptedServer(trouble) as server:
        world = World(server=server, patience=QUICK)
        (found,) = world.ask("Paris")
    assert isinstance(found, ModelCallError)
    kept = f"{found} {found.attempts} {world.call_log.calls}"
    assert "(not kept)" in kept
    assert KEY not in kept
