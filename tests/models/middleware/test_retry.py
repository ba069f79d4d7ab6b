"""What is asked again, when, and how every call ends."""

import asyncio
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark.errors import ModelCallError, RunStoppedError
from evalmark.models.middleware.rate_limits import RateLimits, RetryPolicy
from evalmark.models.middleware.retry import RetryingModel
from evalmark.models.middleware.throttle import LimitedModel, Throttle
from evalmark.testing.virtual_time import run_in_virtual_time

from .asking import ask, chance, closed, fault, limit, lost, reply
from .watched import Watched


class Highest(Random):
    """Draws the longest wait every time."""

    def uniform(self, low, high):
        return high


class Lowest(Random):
    """Draws the shortest wait every time."""

    def uniform(self, low, high):
        return low


def call(model, patience=None, draw=None):
    """What one call comes to, and when it was over."""

    async def main():
        try:
            found = await RetryingModel(model, patience or RetryPolicy(), draw or Highest())(ask())
        except ModelCallError as error:
            found = error
        return found, asyncio.get_running_loop().time()

    return run_in_virtual_time(main())


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529, None])
def test_a_fault_that_may_pass_is_asked_again(status):
    model = Watched([fault(status), fault(status), "Paris"])
    found, _ = call(model)
    assert found.text == "Paris"
    assert [attempt.status for attempt in found.attempts] == [status, status]


def test_both_a_timeout_and_the_reply_after_it_are_told_with_the_time_of_the_good_attempt():
    found, _ = call(Watched([lost(seconds=60.0), reply(seconds=0.5)]))
    assert (found.seconds, [attempt.seconds for attempt in found.attempts]) == (0.5, [60.0])


def test_attempts_of_the_reply_itself_come_last():
    structured = reply(attempts=fault(400).attempts)
    found, _ = call(Watched([fault(500), structured]))
    assert [attempt.status for attempt in found.attempts] == [500, 400]


@pytest.mark.parametrize(("kind", "status"), [("rejected", 400), ("rejected", 413), ("rejected", 422), ("closed", 401)])
def test_a_fault_that_does_not_pass_is_not_asked_again(kind, status):
    model = Watched([fault(status, kind=kind), "Paris"])
    found, ended = call(model)
    assert (found.fault, len(model.requests), ended) == (kind, 1, 0.0)


def test_a_call_ends_after_its_retries_and_tells_of_all_attempts():
    found, ended = call(Watched([fault(500 + n, after=None) for n in range(9)]))
    assert [attempt.status for attempt in found.attempts] == [500, 501, 502, 503, 504, 505]
    assert str(found) == "test: answered 505. It was sent 6 times in 16 s."
    assert ended == 0.5 + 1 + 2 + 4 + 8


def test_waits_double_up_to_the_longest():
    model = Watched([fault()] * 11)
    call(model, RetryPolicy(retries=10, most_wait=5.0))
    waits = [after - before for before, after in zip(model.times, model.times[1:], strict=False)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0]


def test_waits_are_drawn_from_the_whole_range():
    waits = []
    for seed in range(300):
        model = Watched([fault(), "yes"])
        call(model, RetryPolicy(first_wait=1.0), chance(seed))
        waits.append(model.times[1])
    assert 0 <= min(waits) < 0.05
    assert 0.95 < max(waits) <= 1.0
    assert 0.45 < sum(waits) / len(waits) < 0.55


def test_a_wait_is_never_shorter_than_the_endpoint_asks_for():
    model = Watched([limit(1.5), fault(503, after=7.0), "yes"])
    call(model, draw=Lowest())
    assert model.times == [0.0, 1.5, 8.5]


def test_the_word_of_an_endpoint_that_knows_when_to_come_back_counts_more_than_the_backoff():
    model = Watched([*[limit(0.1)] * 20, "yes"])
    found, ended = call(model)
    assert len(found.attempts) == 20
    assert ended <= 20 * 0.5


def test_limits_do_not_use_up_the_retries_but_the_time():
    model = Watched(lambda request: limit(20.0))
    found, ended = call(model, RetryPolicy(retries=2, most_total=600.0), chance(0))
    assert len(found.attempts) > 10
    assert 600 < ended < 700


def test_a_wait_that_is_too_long_is_not_waited_for():
    found, ended = call(Watched([limit(1e9)]))
    assert ended == 0.0
    assert str(found).startswith(
        "test: answered 429. The server asks to wait 1,000,000,000 s, and calls wait at most 300 s"
    )
    assert found.retry_after == 1e9


def test_a_run_that_is_stopped_is_not_asked_again():
    model = Watched([fault(), RunStoppedError("the endpoint is closed"), "yes"])
    with pytest.raises(RunStoppedError, match="closed") as caught:
        call(model)
    assert len(model.requests) == 2
    assert [attempt.status for attempt in caught.value.__cause__.attempts] == [503], "it was sent once, and is kept so"


def test_the_end_of_a_run_knows_all_attempts_of_the_call_that_met_it():
    throttle = Throttle(RateLimits(start=1, most=1))
    model = LimitedModel(Watched([fault(), fault(500), closed()]), throttle)
    with pytest.raises(RunStoppedError, match="answered 401") as caught:
        call(model)
    assert [attempt.status for attempt in caught.value.__cause__.attempts] == [503, 500, 401]
    with pytest.raises(RunStoppedError) as caught:
        call(model)
    assert caught.value.__cause__ is None, "it was never sent"


def test_a_call_whose_caller_gives_up_is_not_asked_again():
    model = Watched(lambda request: fault())

    async def main():
        task = asyncio.create_task(RetryingModel(model, random=Highest())(ask()))
        await asyncio.sleep(2.0)
        task.cancel()
        await asyncio.wait({task})
        await asyncio.sleep(100.0)
        return task.cancelled()

    assert run_in_virtual_time(main())
    assert model.times == [0.0, 0.5, 1.5]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([limit, lambda after: fault(503, after=after), lambda after: fault(None, after=after)]),
    st.sampled_from([None, 0.0, 1e-9, 0.5, 60.0, 299.0, 301.0, 1e12]),
    st.sampled_from([Highest(), Lowest(), chance(4)]),
    st.integers(0, 8),
)
def test_every_call_ends(kind, after, draw, retries):
    found, ended = call(Watched(lambda request: kind(after)), RetryPolicy(retries=retries), draw)
    assert isinstance(found, ModelCallError)
    assert ended <= 900 + 300 + 60
    assert len(found.attempts) <= 202
