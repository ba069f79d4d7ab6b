"""The gate in front of an endpoint: who goes when, and when nobody does."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark.core.values.call import Attempt
from evalmark.errors import ModelCallError, RunStoppedError
from evalmark.models.middleware.rate_limits import RateLimits, RetryPolicy
from evalmark.models.middleware.retry import RetryingModel
from evalmark.models.middleware.throttle import LimitedModel, Throttle
from evalmark.testing.virtual_time import run_in_virtual_time

from .asking import ask, chance, closed, fault, limit, lost, reply
from .watched import Watched, outcomes


def clock() -> float:
    return asyncio.get_running_loop().time()


def test_callers_are_let_go_in_the_order_in_which_they_came():
    model = Watched(seconds=1.0)
    run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=3, most=3))), 50))
    assert [request.messages[0].content for request in model.requests] == [str(number) for number in range(50)]
    assert model.most_under_way == 3


def test_a_small_request_does_not_overtake_a_large_one_that_waits():
    model = Watched()
    limited = LimitedModel(model, Throttle(RateLimits(tpm=6_000)))

    async def main():
        sizes = (50, 3_000, 10, 3_000, 10)
        await asyncio.gather(*(limited(ask(str(n), settings={"max_tokens": size})) for n, size in enumerate(sizes)))

    run_in_virtual_time(main())
    assert [request.messages[0].content for request in model.requests] == ["0", "1", "2", "3", "4"]
    assert model.times[1] > 0


def test_a_pause_holds_every_caller_back_until_it_is_over():
    throttle = Throttle(RateLimits(start=2, most=2))
    model = Watched([limit(7.5), *["yes"] * 9], seconds=1.0)
    run_in_virtual_time(outcomes(LimitedModel(model, throttle), 10))
    assert model.times[:2] == [0.0, 0.0]  # the second was under way when the first was told
    assert min(model.times[2:]) == 8.5


def test_the_longest_of_several_pauses_counts():
    throttle = Throttle(RateLimits(start=3, most=3))
    model = Watched([limit(5.0), limit(20.0), limit(1.0), "yes"], seconds=1.0)
    run_in_virtual_time(outcomes(LimitedModel(model, throttle), 4))
    assert model.times[3] == 21.0


def test_a_limit_halves_the_room_once_however_many_calls_meet_it():
    throttle = Throttle(RateLimits(start=16, most=16))
    model = Watched([limit(1.0)] * 16, seconds=1.0)
    run_in_virtual_time(outcomes(LimitedModel(model, throttle), 16))
    assert throttle.max_in_flight == 8


def test_another_limit_after_the_pause_halves_it_again_down_to_one():
    throttle = Throttle(RateLimits(start=4, most=4))
    rooms = []

    async def main():
        for _ in range(4):
            await outcomes(LimitedModel(Watched([limit(1.0)] * 4, seconds=1.0), throttle), 4)
            rooms.append(throttle.max_in_flight)

    run_in_virtual_time(main())
    assert rooms == [2, 1, 1, 1]


@pytest.mark.parametrize("status", [500, 502, 503, 504, 520, 529, 408, 409, None])
def test_no_other_fault_cuts_the_room(status):
    throttle = Throttle(RateLimits(start=16, most=16))
    run_in_virtual_time(outcomes(LimitedModel(Watched([fault(status)] * 64), throttle), 64))
    assert throttle.max_in_flight == 16


@pytest.mark.parametrize("status", [503, 529])
def test_a_server_that_is_overloaded_and_names_a_time_is_left_alone_too(status):
    model = Watched([fault(status, after=30.0), "yes"])
    run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=1, most=1))), 2))
    assert model.times == [0.0, 30.0]


def test_the_room_grows_with_replies_and_comes_back_after_a_limit():
    throttle = Throttle(RateLimits(start=2, most=32))
    model = Watched(seconds=1.0)
    limited = LimitedModel(model, throttle)

    async def main():
        await outcomes(limited, 200)
        assert throttle.max_in_flight == 32  # it doubles each second until the first limit
        model.answer = lambda request: limit(1.0)
        await outcomes(limited, 48)  # a burst that meets a limit, and one of which nothing comes through
        halved = throttle.max_in_flight
        model.answer = lambda request: "yes"
        await outcomes(limited, 120)
        grown = throttle.max_in_flight
        await outcomes(limited, 4_000)
        return halved, grown

    halved, grown = run_in_virtual_time(main())
    assert halved < 32
    assert halved < grown  # by one or two with each round of replies
    assert throttle.max_in_flight == 32


def test_a_large_room_comes_back_fast_at_first_and_looks_carefully_for_more():
    throttle = Throttle(RateLimits(start=160, most=400))
    rooms = []

    async def main():
        await outcomes(LimitedModel(Watched(lambda request: limit(1.0), seconds=1.0), throttle), 160)
        asking = asyncio.create_task(outcomes(LimitedModel(Watched(seconds=1.0), throttle), 5_000))
        for _ in range(30):
            rooms.append(throttle.max_in_flight)
            await asyncio.sleep(1)
        asking.cancel()

    run_in_virtual_time(main())
    assert rooms[0] == 80
    assert rooms[12] > 130
    steps = {before: after - before for before, after in pairwise(rooms)}
    assert max(step for room, step in steps.items() if room < 100) > 5
    assert max(step for room, step in steps.items() if 150 < room < 170) <= 2


def test_where_nothing_comes_through_and_no_time_is_named_the_gate_waits_longer_each_time():
    throttle = Throttle(RateLimits(start=1, most=1), random=chance(1))
    model = Watched([limit()] * 8 + ["yes"])
    run_in_virtual_time(outcomes(LimitedModel(model, throttle), 9))
    waits = [after - before for before, after in zip(model.times, model.times[1:], strict=False)]
    assert waits[:2] == [0.0, 0.0]  # some endpoints turn down requests at random
    assert all(wait >= 0.25 * 2**n for n, wait in enumerate(waits[2:]))


def test_a_request_that_is_accepted_makes_the_next_wait_short_again():
    throttle = Throttle(RateLimits(start=1, most=1), random=chance(1))
    model = Watched([*[limit()] * 8, "yes", *[limit()] * 3, "yes"])
    run_in_virtual_time(outcomes(LimitedModel(model, throttle), 13))
    assert model.times[8] - model.times[7] > 8
    assert model.times[12] - model.times[11] < 4


def test_a_limit_that_not_all_under_way_meet_gives_the_room_back():
    throttle = Throttle(RateLimits(start=4, most=4))
    model = Watched([limit(1.0)], seconds=0.1)

    async def main():
        model.seconds = 0.5
        first = asyncio.create_task(outcomes(LimitedModel(model, throttle), 1))
        await asyncio.sleep(0.1)
        model.seconds = 1.0
        others = asyncio.create_task(outcomes(LimitedModel(model, throttle), 3))
        await asyncio.sleep(0.6)
        halved = throttle.max_in_flight
        await asyncio.gather(first, others)
        return halved

    assert run_in_virtual_time(main()) == 2
    assert throttle.max_in_flight == 4


def test_after_a_storm_the_first_caller_tries_alone():
    throttle = Throttle(RateLimits(start=16, most=16))
    storm = 300.0
    model = Watched(lambda request: limit() if clock() < storm else "yes", seconds=0.2)

    async def main():
        found = await outcomes(RetryingModel(LimitedModel(model, throttle), random=chance(2)), 100)
        return [each.text for each in found if not isinstance(each, Exception)]

    assert run_in_virtual_time(main()) == ["yes"] * 100
    in_the_storm = [time for time in model.times if 60 < time < storm]
    assert len(in_the_storm) < 30  # one caller now and then, not a hundred
    assert len(model.times) < 200


@pytest.mark.parametrize("rpm", [1, 7, 60, 200])
def test_no_minute_has_more_requests_than_allowed(rpm):
    model = Watched()
    count = min(3 * rpm + 3, 400)
    run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=50, most=50, rpm=rpm))), count))
    within = [later - first for first, later in zip(model.times, model.times[rpm:], strict=False)]
    assert min(within) >= 60 - 1e-6
    assert model.times[-1] <= 60 * count / rpm + 60  # and hardly fewer


def test_no_second_has_many_more_requests_than_its_share():
    model = Watched()
    run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=500, most=500, rpm=6_000))), 1_000))
    within = [later - first for first, later in zip(model.times, model.times[200:], strict=False)]
    assert min(within) >= 1 - 1e-6


def test_tokens_in_a_minute_are_limited():
    model = Watched(lambda request: reply(read=900, written=100))  # the guess is 1,024 and a few
    run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=50, most=50, tpm=60_000))), 180))
    assert 150 < model.times[-1] < 200  # 180,000 tokens at 60,000 a minute
    assert all(later - first > 50 for first, later in zip(model.times, model.times[60:], strict=False))


def test_tokens_count_as_what_they_really_were_once_that_is_known():
    model = Watched(lambda request: reply(read=90, written=10))  # a tenth of the guess
    run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=1, most=1, tpm=6_000))), 180))
    assert 150 < model.times[-1] < 200


def test_a_request_larger_than_the_limit_still_goes():
    model = Watched()
    found = run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(tpm=100))), 2))
    assert [each.text for each in found] == ["0", "1"]


def test_headers_that_say_that_nothing_is_left_hold_callers_back():
    left = iter([*range(4, -1, -1), *[9] * 5])
    said = {"x-ratelimit-reset-requests": "30s"}
    model = Watched(lambda request: reply(headers={**said, "x-ratelimit-remaining-requests": str(next(left))}))
    run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=1, most=1))), 10))
    assert model.times == [0.0] * 5 + [30.0] * 5


def test_no_more_go_at_once_than_headers_say_are_left():
    said = {"x-ratelimit-remaining-requests": "2", "x-ratelimit-reset-requests": "30s"}
    model = Watched([reply(headers=said)], seconds=1.0)

    async def main():
        limited = LimitedModel(model, Throttle(RateLimits(start=8, most=8)))
        await outcomes(limited, 1)
        await outcomes(limited, 5)

    run_in_virtual_time(main())
    assert model.times == [0.0, 1.0, 1.0, 31.0, 31.0, 31.0]


def test_what_is_under_way_is_taken_off_what_headers_say_is_left():
    said = {"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "30s"}
    model = Watched(lambda request: reply(headers=said))

    async def main():
        throttle = Throttle(RateLimits(start=8, most=8))
        held = [await throttle.acquire() for _ in range(2)]
        throttle.record_reply(await throttle.acquire(), reply(headers=said))
        await outcomes(
            LimitedModel(Watched(["a", "b"]), throttle), 1
        )  # of three that are left, two may be those under way
        await outcomes(LimitedModel(model, throttle), 1)
        return len(held)

    run_in_virtual_time(main())
    assert model.times == [30.0]


def test_what_a_user_allows_goes_before_what_headers_say():
    said = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "30s"}
    model = Watched(lambda request: reply(headers=said))
    run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=1, most=1, rpm=600))), 5))
    assert model.times[-1] < 1.0


def test_an_absurd_count_of_tokens_holds_others_up_for_about_a_minute():
    model = Watched([reply(read=10**9), reply(), reply()])
    run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=1, most=1, tpm=6_000))), 3))
    assert 30 < model.times[1] < 90


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_an_endpoint_that_takes_no_requests_ends_all_callers_with_one_message(status):
    model = Watched(lambda request: closed(status), seconds=1.0)
    throttle = Throttle(RateLimits(start=4, most=4))
    found = run_in_virtual_time(outcomes(LimitedModel(model, throttle), 1_000))
    assert len(model.requests) == 4
    assert {(type(each), str(each)) for each in found} == {(RunStoppedError, f"test: answered {status}.")}


def test_the_first_reason_to_close_is_the_one_that_everybody_hears():
    model = Watched([closed(401), closed(404)], seconds=1.0)
    found = run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=2, most=2))), 5))
    assert {str(each) for each in found} == {"test: answered 401."}


def test_a_wait_that_is_too_long_ends_the_run_with_a_sentence():
    model = Watched([limit(3_600.0)])
    found = run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=1, most=1))), 3))
    assert len(model.requests) == 1
    assert {type(each) for each in found} == {RunStoppedError}
    assert "asks to wait 3,600 s, and calls wait at most 300 s. Continue later with --resume." in str(found[0])


def test_an_absurd_wait_is_told_in_words_that_somebody_can_read():
    model = Watched([limit(1e308)])
    (found,) = run_in_virtual_time(outcomes(LimitedModel(model, Throttle(RateLimits(start=1, most=1))), 1))
    assert "The server asks to wait forever, and calls wait at most 300 s." in str(found)
    assert len(str(found)) < 300


def test_an_endpoint_that_has_never_answered_ends_the_run_after_a_while():
    model = Watched(lambda request: lost())
    throttle = Throttle(RateLimits(start=2, most=2))
    found = run_in_virtual_time(outcomes(RetryingModel(LimitedModel(model, throttle), random=chance(3)), 50, workers=2))
    assert {type(each) for each in found} == {ModelCallError, RunStoppedError}
    assert len(model.requests) < 40
    assert "No attempt has had a response for" in str(found[-1])


def refused():
    error = ModelCallError("test: Connection refused.", fault="transient", attempts=(Attempt(seconds=0.0, error="x"),))
    error.is_unreachable = True
    return error


@pytest.mark.parametrize(
    ("retries", "seconds"), [pytest.param(5, 2.5, id="by default"), pytest.param(0, 0.0, id="without retries")]
)
def test_an_address_without_a_server_ends_the_run_at_once_and_not_case_by_case(retries, seconds):
    model, policy = Watched(lambda request: refused()), RetryPolicy(retries=retries)
    throttle = Throttle(RateLimits(start=2, most=2), policy)

    async def main():
        found = await outcomes(RetryingModel(LimitedModel(model, throttle), policy, chance(3)), 50, workers=2)
        return found, asyncio.get_running_loop().time()

    found, ended = run_in_virtual_time(main())
    assert {type(each) for each in found} == {RunStoppedError}
    assert {str(each) for each in found} == {"test: Connection refused. Then continue with --resume."}
    assert ended <= seconds


def test_a_server_that_is_being_started_is_waited_for():
    model = Watched([refused(), refused(), *["yes"] * 3, *[refused()] * 20])
    throttle = Throttle(RateLimits(start=1, most=1))
    found = run_in_virtual_time(outcomes(RetryingModel(LimitedModel(model, throttle), random=chance(3)), 4, workers=1))
    assert [type(each).__name__ for each in found] == ["Reply"] * 3 + ["ModelCallError"]


def test_an_endpoint_that_has_answered_once_is_not_given_up():
    model = Watched(["yes", *[lost()] * 400])
    throttle = Throttle(RateLimits(start=2, most=2))
    found = run_in_virtual_time(outcomes(RetryingModel(LimitedModel(model, throttle), random=chance(3)), 50, workers=2))
    assert {type(each) for each in found[1:]} == {ModelCallError}


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(fault(503), id="a server that is broken answers"),
        pytest.param(fault(400, kind="rejected"), id="a server that refuses answers"),
        pytest.param(ModelCallError("busy", fault="transient"), id="a model of the user's says so itself"),
    ],
)
def test_an_endpoint_that_answers_badly_is_not_silent(error):
    model = Watched(lambda request: error, seconds=1.0)
    throttle = Throttle(RateLimits(start=1, most=1))
    found = run_in_virtual_time(outcomes(RetryingModel(LimitedModel(model, throttle), random=chance(3)), 40, workers=1))
    assert {type(each) for each in found} == {ModelCallError}


def test_a_caller_who_gives_up_does_not_hold_the_others_up():
    model = Watched(seconds=1.0)
    throttle = Throttle(RateLimits(start=1, most=1))

    async def main():
        calls = [asyncio.create_task(LimitedModel(model, throttle)(ask(str(number)))) for number in range(6)]
        await asyncio.sleep(0.5)
        for number in (0, 1, 3):  # one under way, two waiting
            calls[number].cancel()
        await asyncio.wait(calls)
        return [number for number, call in enumerate(calls) if not call.cancelled()]

    assert run_in_virtual_time(main()) == [2, 4, 5]
    assert (throttle.in_flight, throttle.waiting) == (0, 0)


def test_a_caller_who_is_cancelled_in_the_moment_of_its_turn_gives_it_back():
    model = Watched(seconds=1.0)
    throttle = Throttle(RateLimits(start=1, most=1))

    async def main():
        place = await throttle.acquire()
        second = asyncio.create_task(LimitedModel(model, throttle)(ask("second")))
        third = asyncio.create_task(LimitedModel(model, throttle)(ask("third")))
        await asyncio.sleep(1.0)
        throttle.release(place)  # it is the turn of the second one now,
        second.cancel()  # which does not know it yet
        return (await third).text

    assert run_in_virtual_time(main()) == "third"
    assert throttle.in_flight == 0


def test_a_pause_that_begins_while_the_journal_is_told_is_kept_too():
    throttle = Throttle(RateLimits(start=2, most=2))
    model = Watched([limit(10.0)], seconds=1.0)
    slow = iter([0.0, 2.0])

    async def before(request):
        await asyncio.sleep(next(slow, 0.0))

    run_in_virtual_time(outcomes(LimitedModel(model, throttle, before), 4))
    assert model.times == [0.0, 11.0, 12.0, 12.0]
    assert [request.messages[0].content for request in model.requests] == ["0", "1", "2", "3"]  # it keeps its turn


def test_what_goes_wrong_before_a_request_goes_out_leaves_no_place_taken():
    throttle = Throttle(RateLimits(start=1, most=1))

    async def before(request):
        raise RunStoppedError("the journal is full")

    found = run_in_virtual_time(outcomes(LimitedModel(Watched(), throttle, before), 3))
    assert {str(each) for each in found} == {"the journal is full"}
    assert throttle.in_flight == 0


def test_one_gate_serves_one_event_loop_after_the_other():
    throttle = Throttle(RateLimits(start=1, most=1))

    async def broken_off():
        calls = [asyncio.create_task(LimitedModel(Watched(seconds=5.0), throttle)(ask(str(n)))) for n in range(3)]
        await asyncio.sleep(0)
        del calls

    asyncio.run(broken_off())  # what is left is cancelled when the loop ends
    assert [each.text for each in asyncio.run(outcomes(LimitedModel(Watched(), throttle), 3))] == ["0", "1", "2"]


FAULTS = st.sampled_from([None, "limit", "limit", "server", "lost", "rejected"])
STEPS = st.tuples(FAULTS, st.sampled_from([None, 0.0, 0.3, 2.0, 45.0]), st.sampled_from([0.0, 0.01, 0.5, 3.0]))


class Weather(Watched):
    """Answers, and fails, as it is told, and watches when it is asked."""

    def __init__(self, steps, throttle):
        super().__init__()
        self.steps, self.throttle = list(steps), throttle
        self.quiet_until = 0.0
        self.told_at = -1.0
        self.too_early = 0
        self.too_many = 0

    async def __call__(self, request):
        now = clock()
        self.too_early += now < self.quiet_until - 1e-9
        self.too_many += self.throttle.in_flight > self.throttle.max_in_flight and now != self.told_at
        kind, after, seconds = self.steps.pop() if self.steps else (None, None, 0.1)
        await asyncio.sleep(seconds)
        if kind is None:
            return reply()
        if kind in ("limit", "server"):
            self.told_at = clock()
            self.quiet_until = max(self.quiet_until, clock() + (after or 0.0))
            raise limit(after) if kind == "limit" else fault(503, after=after)
        raise lost() if kind == "lost" else fault(400, kind="rejected")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(STEPS, max_size=40),
    st.integers(1, 30),
    st.integers(1, 8),
    st.sampled_from([None, 30, 600]),
    st.integers(0, 2**32),
)
def test_whatever_the_weather_every_call_ends_and_none_goes_too_early(steps, callers, most, rpm, seed):
    throttle = Throttle(RateLimits(start=1 + most // 2, most=most, rpm=rpm), random=chance(seed))
    model = Weather(steps, throttle)
    found = run_in_virtual_time(outcomes(RetryingModel(LimitedModel(model, throttle), random=chance(seed)), callers))
    assert (model.too_early, model.too_many) == (0, 0)
    assert model.in_flight == throttle.in_flight == throttle.waiting == 0
    assert None not in found
    assert {type(each) for each in found} <= {type(reply()), ModelCallError}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 20), st.sampled_from([None, 0.0, 1.5, 4.0])), min_size=1, max_size=25),
    st.lists(STEPS, max_size=20),
    st.integers(1, 4),
)
def test_callers_may_give_up_at_any_moment(callers, steps, most):
    throttle = Throttle(RateLimits(start=most, most=most), RetryPolicy(most_total=200.0), chance(0))
    model = Weather(steps, throttle)
    limited = RetryingModel(LimitedModel(model, throttle), random=chance(0))

    async def main():
        tasks = []
        for number, (pause, patience) in enumerate(callers):
            tasks.append(asyncio.create_task(limited(ask(str(number)))))
            await asyncio.sleep(pause)
            if patience is not None:
                asyncio.get_running_loop().call_later(patience, tasks[-1].cancel)
        await asyncio.gather(*tasks, return_exceptions=True)

    run_in_virtual_time(main())
    assert (model.too_early, throttle.in_flight, throttle.waiting) == (0, 0, 0)
