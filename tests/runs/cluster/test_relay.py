"""Workers behind relays: few batches for many workers, and no result lost when a relay ends."""

import asyncio
from itertools import pairwise

import pytest

from evalmark.runs.cluster import relay
from evalmark.runs.cluster.messages import Ready
from evalmark.runs.cluster.relay import BATCH_SECONDS, Relay, RelayedWorkerPool
from evalmark.runs.cluster.worker_pool import NoWorkersError, WorkerLostError
from evalmark.testing.virtual_time import run_in_virtual_time

from .local_workers import RelayedLocalPool
from .stories import STORIES, Story, Upper, asking, elsewhere, here, plain, trials


@pytest.fixture
def small_groups(monkeypatch):
    """At most two workers behind a relay."""
    monkeypatch.setattr(relay, "GROUP_SIZE", 2)


@pytest.mark.parametrize(("size", "relay_count"), [(1, 1), (2, 1), (3, 2), (5, 3), (6, 3)])
def test_workers_are_divided_among_as_few_relays_as_hold_them(small_groups, size, relay_count):
    world = elsewhere(STORIES["functions"], kind=RelayedLocalPool, size=size)
    assert world.found == here(STORIES["functions"]).found
    assert len(world.pool.relays) == relay_count
    workers = [len(one.workers) for one in world.pool.relays]
    assert sum(workers) == size
    assert max(workers) <= 2


def test_all_relays_together_get_at_most_100_batches_a_second(small_groups):
    story = Story(trials=lambda: trials(120), work=asking(2))
    world = elsewhere(story, kind=RelayedLocalPool, size=6)
    for one in world.pool.relays:
        assert len(one.batch_times) > 3
        assert all(later - earlier >= 3 * BATCH_SECONDS - 1e-9 for earlier, later in pairwise(one.batch_times))


@pytest.mark.parametrize("relays_ended", [1, 2, 5])
def test_when_relays_end_their_cases_run_behind_new_ones(small_groups, relays_ended):
    story = Story(trials=lambda: trials(200), work=plain(**{"": Upper(0.5)}))
    ended = []

    class Ending(RelayedLocalPool):
        def _new_relay(self, size, interval):
            new = super()._new_relay(size, interval)
            if len(ended) < relays_ended:
                ended.append(new)
                asyncio.get_running_loop().call_later(1.2, new.end)
            return new

    world = elsewhere(story, kind=Ending, size=4)
    assert world.found == here(story).found
    assert not world.outcome.stopped
    lost = sum(len(one.workers) for one in ended)
    assert lost >= 2 * relays_ended
    assert world.outcome.notes[0].startswith(f"{lost} workers ended during the run")
    assert len(world.pool.relays) >= 2 + relays_ended


def test_a_relay_that_cannot_start_a_worker_says_why():
    with pytest.raises(NoWorkersError, match=r"^there is no worker [01] to be had$"):
        elsewhere(STORIES["functions"], kind=RelayedLocalPool, size=2, refused={0, 1})


class _Worker:
    """Sends what it has, one message a second, and ends."""

    def __init__(self, messages, is_deaf=False):
        self.messages, self.is_deaf = list(messages), is_deaf

    async def send(self, messages):
        if self.is_deaf:
            raise WorkerLostError("it is deaf")

    async def receive(self):
        if not self.messages:
            raise WorkerLostError("it ended")
        await asyncio.sleep(1)
        return [self.messages.pop(0)]


class _Pool:
    size = 1

    def __init__(self, worker):
        self.worker = worker

    async def start_worker(self):
        return self.worker


@pytest.mark.parametrize("is_deaf", [False, True])
def test_the_last_messages_of_a_worker_arrive_before_its_end(is_deaf):
    async def story():
        pool = RelayedWorkerPool(
            lambda size, interval: Relay(_Pool(_Worker([Ready(1), Ready(2), Ready(3)], is_deaf)), interval), 1
        )
        worker = await pool.start_worker()
        await worker.send([Ready(0)])
        messages = [await worker.receive() for _ in range(3)]
        with pytest.raises(WorkerLostError, match="it ended"):
            await worker.receive()
        await pool.close()
        return messages

    assert run_in_virtual_time(story()) == [[Ready(1)], [Ready(2)], [Ready(3)]]
