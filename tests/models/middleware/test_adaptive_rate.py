"""Endpoints that turn requests down: at random, where the pace does not matter, and for a limit, where it does."""

import asyncio
import math

import pytest

from evalmark.core.values.call import Reply
from evalmark.errors import ModelCallError
from evalmark.models.middleware.adaptive_rate import AdaptiveRate
from evalmark.models.middleware.rate_limits import RateLimits, RetryPolicy
from evalmark.models.middleware.retry import RetryingModel
from evalmark.models.middleware.throttle import LimitedModel, Throttle
from evalmark.testing.virtual_time import run_in_virtual_time

from .asking import ask, chance, fault, limit, lost

JOBS = 64


class Server:
    """Answers after a while; `refuses` says what it raises instead, `late` seconds after it was asked."""

    name = identity = "server"

    def __init__(self, refuses, *, seconds=1.8, late=0.01, seed=1):
        self.refuses, self.seconds, self.late = refuses, seconds, late
        self.chance = chance(seed)
        self.sent = self.limited = 0

    async def __call__(self, request):
        self.sent += 1
        error = self.refuses(self.chance, asyncio.get_running_loop().time())
        if error is None:
            seconds = self.seconds * math.exp(self.chance.gauss(0, 0.2))
            await asyncio.sleep(seconds)
            return Reply(text="yes", seconds=seconds)
        self.limited += error.attempts[-1].status == 429
        await asyncio.sleep(self.late)
        raise error


def never(_chance, _now):
    return None


def at_random(share, after):
    return lambda chance, now: limit(after) if chance.random() < share else None


def all_kinds(chance, now):
    drawn = chance.random()
    faults = ((0.2, limit(0.0)), (0.3, fault(500)), (0.35, lost()), (0.38, fault(200)))
    return next((error for edge, error in faults if drawn < edge), None)


class Bucket:
    """So many requests a minute, and a burst."""

    def __init__(self, per_minute, burst, after):
        self.rate, self.burst, self.after = per_minute / 60, burst, after
        self.level, self.then = float(burst), 0.0

    def __call__(self, _chance, now):
        self.level = min(self.burst, self.level + (now - self.then) * self.rate)
        self.then = now
        if self.level >= 1:
            self.level -= 1
            return None
        return limit({"none": None, "zero": 0.0, "seconds": math.ceil((1 - self.level) / self.rate)}[self.after])


def asked(server, count, throttle=None):
    """Seconds that so many calls take, 64 at a time, and how many of them ended in an error."""

    async def main():
        gate = throttle or Throttle(RateLimits(start=JOBS, most=JOBS), random=chance(7))
        model = RetryingModel(LimitedModel(server, gate), RetryPolicy(), chance(8))
        left = iter(range(count))
        errors = []

        async def work():
            for number in left:
                try:
                    await model(ask(str(number)))
                except ModelCallError as error:
                    errors.append(error)

        await asyncio.gather(*(work() for _ in range(JOBS)))
        return asyncio.get_running_loop().time(), errors

    return run_in_virtual_time(main())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("seconds", [0.05, 0.5, 1.8])
def test_requests_that_are_turned_down_at_random_do_not_slow_a_run(seconds, seed):
    clean, _ = asked(Server(never, seconds=seconds, seed=seed), 250)
    server = Server(at_random(0.2, 0.0), seconds=seconds, late=seconds / 50, seed=seed)
    throttle = Throttle(RateLimits(start=JOBS, most=JOBS))
    taken, errors = asked(server, 250, throttle)
    assert errors == []
    assert server.limited > 30
    assert taken <= 1.5 * clean
    assert throttle.max_in_flight == JOBS


@pytest.mark.parametrize("seed", range(5))
def test_faults_of_all_kinds_together_cost_little_more_than_their_own_time(seed):
    clean, _ = asked(Server(never, seed=seed), 250)
    taken, _ = asked(Server(all_kinds, seed=seed), 250)
    assert taken <= 1.4 * clean


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("after", ["none", "zero", "seconds"])
@pytest.mark.parametrize("seconds", [0.05, 0.25, 1.0])
def test_a_real_limit_is_used_and_not_stormed(seconds, after, seed):
    server = Server(Bucket(600, 20, after), seconds=seconds, seed=seed)
    count = 400
    taken, errors = asked(server, count)
    assert errors == []
    assert (count - 20) / 10 + seconds >= 0.9 * taken
    assert server.sent <= 1.35 * count


def test_a_limit_that_goes_away_does_not_slow_the_rest_for_long():
    limited = Bucket(600, 20, "seconds")
    server = Server(lambda chance, now: limited(chance, now) if now < 30 else None, seconds=0.5)
    taken, _ = asked(server, 3_000)
    assert taken < 30 + 45  # 2,700 are left, at 128 a second if nothing was limited


def test_now_means_now():
    model = Server(lambda chance, now: limit(0.0) if model.sent == 1 else None, seconds=1.0, late=0.0)

    async def main():
        await RetryingModel(LimitedModel(model, Throttle()), RetryPolicy(first_wait=30.0), chance(1))(ask())
        return asyncio.get_running_loop().time()

    assert run_in_virtual_time(main()) < 5


def test_waits_for_a_server_do_not_grow_with_the_limits_met_before():
    errors = [*[limit(0.0)] * 30, fault(503)]
    model = Server(lambda chance, now: errors.pop(0) if errors else None, seconds=0.1, late=0.0)

    async def main():
        await RetryingModel(model, RetryPolicy(first_wait=0.5), chance(1))(ask())
        return asyncio.get_running_loop().time()

    assert run_in_virtual_time(main()) <= 0.1 + 0.5


def met(pace, numbers, now, *, is_told):
    return [pace.rejected(number, now, is_stated=is_told) for number in numbers]


@pytest.mark.parametrize("is_told", [False, True])
def test_a_burst_that_meets_a_limit_slows_the_pace_once(is_told):
    pace = AdaptiveRate()
    for number in range(1, 65):
        pace.sent(number, 0.0)
    slowed = met(pace, range(1, 65), 0.1, is_told=is_told)
    assert slowed.count(True) == 1
    assert pace.rate is not None


def test_what_is_not_known_of_a_request_holds_nobody_up():
    pace = AdaptiveRate()
    for number in range(1, 65):
        pace.sent(number, 0.0)
    met(pace, range(1, 65), 0.1, is_told=False)
    now = 0.1
    for number in range(65, 81):
        now += pace.wait(now)
        pace.sent(number, now)
    assert pace.wait(now) > 0  # what comes of these counts first
    for number in range(65, 81):
        pace.unsent(number)
    assert pace.wait(now + 1) == 0
