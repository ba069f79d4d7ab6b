"""Seconds are the target's own, whatever it is: in no queue for a thread, the loop, or a model."""

import asyncio
from dataclasses import replace

import pytest

from evalmark import Case, Output
from evalmark.core.context import clock
from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.foreign.threads import DaemonThreads
from evalmark.core.values.call import Reply
from evalmark.core.values.score import Trial
from evalmark.models.middleware.rate_limits import RateLimits, RetryPolicy
from evalmark.models.middleware.retry import RetryingModel
from evalmark.models.middleware.throttle import LimitedModel, Throttle
from evalmark.runs.engine import trial
from evalmark.runs.engine.pipeline import run_trials
from evalmark.runs.engine.work import Limits, Work
from evalmark.runs.targets import model
from evalmark.runs.targets.function import as_target
from evalmark.runs.targets.model import ModelTarget
from evalmark.testing.memory import MemorySink
from evalmark.testing.virtual_time import run_in_virtual_time
from tests.models.middleware.asking import chance, limit


class Time:
    """Passes only where a test says so."""

    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now

    def work(self, seconds):
        self.now += seconds


class Queue(DaemonThreads):
    """Threads for which one waits 100 seconds, before and after."""

    def __init__(self, time):
        super().__init__()
        self.time = time

    async def run(self, call):
        self.time.work(100)
        try:
            return await super().run(call)
        finally:
            self.time.work(100)


@pytest.fixture
def time(monkeypatch):
    time = Time()
    monkeypatch.setattr(clock, "perf_counter", time)
    monkeypatch.setattr(trial.time, "perf_counter", time)
    return time


def kinds(time):  # noqa: C901  each is a kind of target
    def sync(question):
        time.work(5)
        return question

    def stream(question):
        time.work(2)
        yield question
        time.work(3)

    async def asynchronous(question):
        time.work(2)
        await asyncio.sleep(0)
        time.work(3)
        return question

    async def asynchronous_stream(question):
        time.work(2)
        yield question
        time.work(3)

    def returns_a_coroutine(question):
        time.work(2)

        async def rest():
            time.work(3)
            return question

        return rest()

    def raises(question):
        time.work(5)
        raise ValueError(question)

    async def raises_later(question):
        time.work(5)
        await asyncio.sleep(0)
        raise ValueError(question)

    class Runnable:
        def invoke(self, question):
            return sync(question)

    class AsyncRunnable:
        async def ainvoke(self, question):
            return await asynchronous(question)

    class Made:
        def __init__(self):
            time.work(1_000)

        def __call__(self, question):
            return sync(question)

    return {
        **{f.__name__: f for f in (sync, stream, asynchronous, asynchronous_stream, returns_a_coroutine)},
        **{f.__name__: f for f in (raises, raises_later)},
        "runnable": Runnable(),
        "async runnable": AsyncRunnable(),
        "class": Made,
    }


def output_of(target, **limits) -> Output:
    sink = MemorySink()
    work = Work(trials=[Trial(case=Case(id="1", input="Oslo"))], targets={"": target}, scorers=(), sink=sink)
    asyncio.run(run_trials(work, Limits(jobs=1, **limits)))
    return sink.results[0].output


@pytest.mark.parametrize("kind", kinds(None))
@pytest.mark.parametrize("timeout", [None, 60.0])
def test_seconds_are_those_inside_the_function(kind, timeout, time, monkeypatch):
    monkeypatch.setattr("evalmark.runs.targets.function.DaemonThreads", lambda: Queue(time))
    target = as_target(kinds(time)[kind])
    if hasattr(target, "threads"):
        target = replace(target, threads=Queue(time))
    output = output_of(target, timeout=timeout)
    assert (output.error is None) is not kind.startswith("raises")
    assert output.seconds == 5.0
    assert output.waited in (0.0, 200.0, 1_000.0, 1_400.0)  # a thread, the making of an object, both


def test_an_output_keeps_the_seconds_that_the_target_gave_it(time):
    def remote(question):
        time.work(5)
        return Output(value=question, seconds=0.25)

    assert output_of(replace(as_target(remote), threads=Queue(time))).seconds == 0.25


def test_what_never_began_took_no_time(time):
    class Busy(DaemonThreads):
        async def run(self, call):
            raise RuntimeError("no thread is free")

    def sync(question):
        return question

    output = output_of(replace(as_target(sync), threads=Busy()))
    assert output.error == "RuntimeError: no thread is free"
    assert (output.seconds, output.waited) == (None, None)


def test_a_call_that_hangs_took_as_long_as_it_had(time):
    async def hangs(question):
        time.work(7)
        await asyncio.sleep(3600)

    output = output_of(as_target(hangs), timeout=0.01)
    assert output.error == "no answer within 0.01 s"
    assert output.seconds == 7.0


def test_time_that_a_models_call_waits_for_its_turn_is_not_the_targets(time, monkeypatch):
    async def agent(question):
        time.work(5)
        with current_trial_context().waiting():
            time.work(30)
        return question

    monkeypatch.setattr(asyncio.BaseEventLoop, "time", lambda self: time.now)
    output = output_of(as_target(agent))
    assert (output.seconds, output.waited) == (5.0, 30.0)


class Server:
    """A model that is at its limit twice, and then answers in 5 seconds."""

    name = identity = "server"

    def __init__(self):
        self.answers = [limit(10.0), limit(10.0)]

    async def __call__(self, request):
        await asyncio.sleep(5)
        if self.answers:
            raise self.answers.pop(0)
        return Reply(text="Oslo", seconds=5.0)


def test_a_models_seconds_are_those_of_the_attempt_that_succeeded(monkeypatch):
    async def main():
        monkeypatch.setattr(model.time, "perf_counter", asyncio.get_running_loop().time)
        retried = RetryingModel(
            LimitedModel(Server(), Throttle(RateLimits(start=1))), RetryPolicy(first_wait=0.0), chance(1)
        )
        target = ModelTarget(model=retried)
        return await target(Case(id="1", input="?"))

    output = run_in_virtual_time(main())
    assert output.seconds == 5.0
    assert output.waited == pytest.approx(30.0)  # two attempts of 5 s, two pauses of 10 s


def test_a_cached_reply_waited_for_nothing():
    class Cached:
        name = identity = "cached"

        async def __call__(self, request):
            return Reply(text="Oslo", seconds=0.0, replayed=True)

    assert asyncio.run(ModelTarget(model=Cached())(Case(id="1", input="?"))).waited is None


def test_a_model_that_fails_tells_its_last_attempt():
    async def main():
        sink = MemorySink()
        target = ModelTarget(model=LimitedModel(Server(), Throttle(RateLimits(start=1))))
        work = Work(trials=[Trial(case=Case(id="1", input="Oslo"))], targets={"": target}, scorers=(), sink=sink)
        await run_trials(work)
        return sink.results[0].output

    output = run_in_virtual_time(main())
    assert output.error
    assert output.seconds == limit().attempts[-1].seconds
