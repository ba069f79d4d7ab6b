"""A run whose trials are done by workers is the same run: its results, its calls, its end."""

import asyncio
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from evalmark import Output, Score
from evalmark.core.settings import Settings
from evalmark.core.values.call import Reply
from evalmark.errors import RunStoppedError, StoreFullError
from evalmark.runs.cluster.coordinator import Coordinator
from evalmark.runs.engine.work import Limits, Work
from evalmark.testing.memory import MemorySink
from evalmark.tools import replayed

from .local_workers import LocalWorkerPool, RelayedLocalPool
from .stories import (
    LIMITS,
    STORIES,
    Is,
    Story,
    Upper,
    asking,
    bad_row,
    elsewhere,
    flaky,
    here,
    plain,
    run_in_virtual_time,
    trials,
)


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        pytest.param(LocalWorkerPool, 1, id="one worker"),
        pytest.param(LocalWorkerPool, 3, id="three workers"),
        pytest.param(RelayedLocalPool, 3, id="three workers behind a relay"),
    ],
)
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_the_same_results_here_and_elsewhere(story, kind, size):
    flaky.asked.clear()
    one = here(story)
    flaky.asked.clear()
    other = elsewhere(story, kind=kind, size=size)
    assert other.found == one.found
    assert other.payload == one.payload
    assert other.call_log.in_flight == set()
    assert other.door.meter.spending() == one.door.meter.spending()
    assert (other.outcome.recorded, other.outcome.stopped) == (one.outcome.recorded, one.outcome.stopped)
    assert other.outcome.notes == ()


@replayed
async def look(at):
    return {"at": at, "letters": len(at)}


@dataclass(frozen=True)
class Agent:
    name: str = "agent"

    async def __call__(self, case):
        return Output(value=await asyncio.to_thread(asyncio.run, look(case.input)))


def test_recorded_tools_are_the_desks():
    story = Story(trials=lambda: trials(12), work=plain(**{"": Agent()}), limits=replace(LIMITS, jobs=1))
    one, other = here(story, asyncio.run), elsewhere(story, asyncio.run)
    assert other.found == one.found
    assert set(other.recordings.recordings) == set(one.recordings.recordings)
    assert len(other.recordings.recordings) == 12


def test_a_budget_holds_for_all_workers_together():
    story = Story(trials=lambda: trials(40), work=asking(), settings=Settings(jobs=4, max_calls=10))
    one, other = here(story), elsewhere(story, size=3)
    assert len(one.model.requests) == len(other.model.requests) == 10
    assert other.outcome.reason == one.outcome.reason != ""
    assert other.outcome.stopped
    assert len(other.found) == 10


@dataclass
class Busy:
    """A model that knows how many were asking it at the same time."""

    name: str = "busy"
    identity: str = "busy"
    now: int = 0
    most: int = 0

    async def __call__(self, request):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.05)
        self.now -= 1
        return Reply(text="yes")


def test_how_many_are_asked_at_a_time_holds_for_all_workers_together():
    story = Story(trials=lambda: trials(60), work=asking(), model=Busy(), settings=Settings(jobs=5))
    world = elsewhere(story, size=4)
    assert len(world.found) == 60
    assert world.model.most == 5


@dataclass(frozen=True)
class Ends:
    """May ask no more from the n-th time on."""

    times: list
    name: str = "ends"

    async def __call__(self, case, output=None):
        await asyncio.sleep(0.01)
        self.times.append(case.input)
        if len(self.times) > 20:
            raise RunStoppedError("nothing more may be asked")
        return Output(value="x") if output is None else [Score(name=self.name, value=1.0, passed=True)]


@pytest.mark.parametrize("who", ["target", "scorer"])
def test_a_worker_that_may_ask_no_more_ends_the_run_for_all(who):
    times = []
    ends = Ends(times)
    work = plain(**{"": ends}) if who == "target" else plain(ends)
    world = elsewhere(Story(trials=lambda: trials(500), work=work), size=3)
    assert world.outcome.reason == "nothing more may be asked"
    assert world.outcome.stopped
    assert world.outcome.recorded == len(world.found) == 20


def stop_after(count):
    """A stop once so many results are durable."""
    stop, seen = asyncio.Event(), []

    def watch(results):
        seen.extend(results)
        if len(seen) >= count:
            stop.set()

    return {"stop": stop, "watch": watch}


def test_a_stop_begins_nothing_more_and_what_is_under_way_is_finished():
    world = elsewhere(Story(trials=lambda: trials(1_000), work=plain(**{"": Upper(0.1)})), size=3, **stop_after(50))
    assert world.outcome.stopped
    assert world.outcome.reason == ""
    assert 50 <= len(world.found) < 150
    assert world.outcome.recorded == len(world.found)


@dataclass(frozen=True)
class Endless(Upper):
    """Never answers, and says so to whoever can stop it."""

    begun: object = None

    async def __call__(self, case):
        self.begun.set()
        await asyncio.sleep(1e9)


def test_after_the_grace_what_is_under_way_is_given_up():
    stop = asyncio.Event()
    story = Story(trials=lambda: trials(9), work=plain(**{"": Endless(begun=stop)}), limits=replace(LIMITS, grace=3))
    world = elsewhere(story, stop=stop, run=timed)
    assert world.outcome.stopped
    assert world.found == []
    assert 3 <= timed.took < 4


def timed(work):
    """Run it, and note how long it took."""

    async def story():
        await work
        timed.took = asyncio.get_running_loop().time()

    return run_in_virtual_time(story())


def test_a_stop_after_the_last_result_leaves_nothing_out():
    world = elsewhere(Story(trials=lambda: trials(20), work=plain()), **stop_after(20))
    assert not world.outcome.stopped
    assert len(world.found) == 20


@pytest.mark.parametrize("size", [1, 3])
def test_a_sink_that_is_slow_slows_the_workers_down(size):
    answered, read = [], []

    class Counts(Upper):
        async def __call__(self, case):
            answered.append(case.input)
            return await super().__call__(case)

    class Slow(MemorySink):
        """Takes a minute for its first write, and notes how many were answered and read by then."""

        async def write(self, results):
            if not self.batches:
                await asyncio.sleep(60)
                self.batches.extend((len(answered), len(read)))
            await super().write(results)

    def items():
        for trial in trials(1_000):
            read.append(trial)
            yield trial

    world = elsewhere(Story(trials=items, work=plain(**{"": Counts()})), size=size, sink=Slow())
    assert len(world.found) == 1_000
    room = LIMITS.jobs * 2 + LIMITS.window
    assert world.sink.batches[0] <= world.sink.batches[1] <= size * room + LIMITS.window + LIMITS.window


@pytest.mark.parametrize("full_after", [0, 30, 58])
@pytest.mark.parametrize("how", [here, elsewhere])
def test_a_sink_that_breaks_ends_the_run_whatever_waits_for_it(how, full_after):
    """Also when all is done, and more results wait than there is room for."""
    limits = replace(LIMITS, batch=2, window=4)
    sink = MemorySink(full_after=full_after, seconds=5)
    with pytest.raises(StoreFullError):
        how(Story(trials=lambda: trials(64), work=plain(), limits=limits), sink=sink)
    assert len(sink.results) == full_after


def test_scores_that_a_scorer_cannot_give_are_errors_as_here():
    world = elsewhere(Story(trials=lambda: trials(2), work=plain(Is("x", bad="x1"))))
    assert [score.status for result in world.found for score in result.scores] == ["scored", "error"]


def test_a_wait_for_space_that_is_cancelled_records_nothing_twice():
    async def story():
        config = SimpleNamespace(calls=None, services=None, max_items=1, pool=SimpleNamespace(size=0))
        work = Work(trials=[], targets={}, scorers=[], sink=sink)
        coordinator = Coordinator(work, Limits(window=2), config, asyncio.Event(), None)
        coordinator.queue.ready_results.extend(map(bad_row, range(6)))
        recording = asyncio.create_task(coordinator.record_ready())
        await asyncio.sleep(0)
        assert not recording.done()
        recording.cancel()
        await asyncio.gather(recording, return_exceptions=True)
        writing = asyncio.create_task(coordinator._recorder.run())
        await coordinator.record_ready()
        coordinator._recorder.end()
        await writing

    sink = MemorySink()
    run_in_virtual_time(story())
    assert [result.trial.position for result in sink.results] == list(range(6))
