"""Workers that end, that cannot be had and that fall silent: the run goes on with the others, and nothing is lost."""

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalmark import Output, Turn
from evalmark.core.values.call import Reply, Request
from evalmark.models.middleware.keyed_request import with_key
from evalmark.runs.cluster.messages import (
    Assign,
    AttemptFinished,
    CallRequested,
    FinishWork,
    Ready,
    SendNow,
    ServiceRequested,
    TicketCancelled,
    TrialFinished,
    WorkerDone,
)
from evalmark.runs.cluster.worker_pool import NoWorkersError, WorkerLostError
from evalmark.testing.memory import MemorySink

from .local_workers import LocalWorkerPool, RelayedLocalPool
from .stories import (
    LIMITS,
    STORIES,
    Is,
    Story,
    Upper,
    asking,
    elsewhere,
    here,
    place,
    plain,
    run_in_virtual_time,
    talk,
    trials,
)

pytestmark = pytest.mark.slow


def lost_at(seed, least, most, workers=20):
    """Workers that end after so many messages, some of them while they get ready."""
    chance = Random(seed)  # noqa: S311  no secret
    return {hire: chance.choice([0, *range(least, most)]) for hire in range(workers)}


@pytest.mark.parametrize("kind", [LocalWorkerPool, RelayedLocalPool])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("functions", 1, 30),
        ("repeats", 1, 40),
        ("a conversation", 6, 12),
        ("a conversation that the target remembers", 6, 12),
        ("a model", 1, 40),
        ("a judge", 1, 30),
        ("rows that cannot be read", 1, 12),
    ],
)
def test_workers_that_end_again_and_again_change_no_result(name, least, most, seed, kind):
    one = here(STORIES[name])
    other = elsewhere(STORIES[name], kind=kind, size=2, until=lost_at(seed, least, most), seconds=0.002)
    same = {place(result): result for result in one.found}
    assert [place(result) for result in other.found] == list(same)
    done = [result for result in other.found if "workers ended while" not in (result.output.error or "")]
    assert done == [same[place(result)] for result in done]
    assert len(done) >= len(same) - 2
    lost = sum(member is None or member.is_lost for member in other.pool.members)
    assert lost >= 3
    assert other.outcome.notes[0].startswith(f"{lost} workers ended during the run")
    assert not other.outcome.stopped
    assert sum((other.payload - one.payload).values()) <= 2 * LIMITS.jobs * lost, "no more than were under way"


@dataclass(frozen=True)
class Kills(Upper):
    """Ends the process that asks it for some inputs."""

    die: object = None
    deadly: tuple = ()

    async def __call__(self, case):
        if case.input in self.deadly and self.die:
            self.die()
        return await super().__call__(case)


def deadly(*inputs, scorers=()):
    return lambda model, die: {
        "targets": {"": Kills(0.01, die=die, deadly=inputs)},
        "scorers": (Is("x"), *scorers),
        "turn_scorers": (Is("a"),),
    }


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("inputs", [("x0",), ("x39",), ("x0", "x1", "x2"), ("x5", "x20", "x38")])
def test_a_case_that_no_worker_survives_is_given_up_and_no_other_one(inputs, size):
    story = Story(trials=lambda: trials(40), work=deadly(*inputs))
    one, other = here(story), elsewhere(story, size=size)
    found = {result.trial.case.input: result for result in other.found}
    assert {name for name, result in found.items() if result.output.error} == set(inputs)
    first = found[inputs[0]]
    assert (
        first.output.error == "5 workers ended while they ran this case, so it is not run again; the last one: killed"
    )
    assert [(score.name, score.status) for score in first.scores] == [("has x", "skipped")]
    assert [result for result in other.found if not result.output.error] == [
        result for result in one.found if result.trial.case.input not in inputs
    ]


def test_a_turn_that_is_given_up_is_missing_from_the_turns_after_it_and_has_their_scores():
    world = elsewhere(Story(trials=lambda: [talk(6)], work=deadly("x4")), size=2)
    errors = [result.output.error for result in world.found]
    assert errors[:2] + errors[3:4] + errors[5:] == [None] * 4
    assert errors[2:5:2] == [
        "cases.csv:3: too few cells",
        "5 workers ended while they ran this case, so it is not run again; the last one: killed",
    ]
    assert world.found[5].output.value.startswith("x5 after ['said', 'before', 'x0', ")
    assert "x4" not in world.found[5].output.value
    assert {score.name for result in world.found for score in result.scores} == {"has a"}


def test_a_target_that_ends_every_worker_ends_the_run():
    story = Story(trials=lambda: trials(500), work=deadly(*(f"x{n}" for n in range(500))))
    with pytest.raises(
        NoWorkersError, match=r"^All workers ended before they finished a trial; the last one reported: killed$"
    ):
        elsewhere(story, size=2)


class Nobody(LocalWorkerPool):
    """A crew whose hires, some of them, never come to an end."""

    async def start_worker(self):
        if len(self.members) in self.refused:
            self.members.append(None)
            await asyncio.Event().wait()
        return await super().start_worker()


def test_a_worker_that_never_gets_ready_is_not_waited_for():
    world = elsewhere(STORIES["functions"], kind=Nobody, size=3, refused={0})
    assert world.found == here(STORIES["functions"]).found
    assert not world.outcome.stopped
    assert len(world.pool.members) == 3


def test_a_run_without_a_worker_can_be_stopped():
    stop = asyncio.Event()

    async def story(work):
        asyncio.get_running_loop().call_later(60, stop.set)
        await work

    world = elsewhere(
        STORIES["functions"],
        run=lambda work: run_in_virtual_time(story(work)),
        kind=Nobody,
        size=2,
        refused={0, 1},
        stop=stop,
    )
    assert world.outcome.stopped
    assert world.found == []


def test_without_any_worker_there_is_no_run():
    with pytest.raises(NoWorkersError, match=r"^there is no worker [01] to be had$"):
        elsewhere(STORIES["functions"], size=2, refused={0, 1})


def test_workers_that_all_end_while_they_get_ready_are_not_hired_for_ever():
    with pytest.raises(NoWorkersError, match=r"the last one reported: worker [0-9]+ did not get ready"):
        elsewhere(STORIES["functions"], size=2, until=dict.fromkeys(range(1_000), 0))


def test_where_no_worker_can_be_had_in_the_place_of_one_that_ended_the_others_do_the_work():
    story = replace(STORIES["functions"], work=plain(**{"": Upper(1.0)}))
    world = elsewhere(story, size=2, until={0: 12}, refused=range(2, 1_000))
    assert world.found == here(story).found
    ended, missed = world.outcome.notes
    assert ended.startswith("1 worker ended during the run. ")
    assert missed == "1 of 2 workers could not be started at some time: there is no worker 2 to be had"


def test_a_place_is_filled_again_as_soon_as_there_is_a_worker_for_it():
    story = Story(trials=lambda: trials(400), work=plain(**{"": Upper(1.0)}))
    world = elsewhere(story, size=2, until={0: 12}, refused={2, 3})
    assert len(world.found) == 400
    assert [member is None for member in world.pool.members] == [False, False, True, True, False]


class Strange(LocalWorkerPool):
    """A crew whose first worker is played by a test."""

    async def start_worker(self):
        if not self.members:
            self.members.append(None)
            return PLAYED[-1]
        return await super().start_worker()


PLAYED = []


class Plays:
    """A worker that says a line each time that it has heard so much, and ends then, or falls silent."""

    def __init__(self, *lines, ends=True, deaf_after=10**9):
        PLAYED.append(self)
        self.lines, self.ends, self.deaf_after = list(lines), ends, deaf_after
        self.heard, self.more = [], asyncio.Event()

    async def send(self, messages):
        self.heard += messages
        self.more.set()
        if len(self.heard) > self.deaf_after:
            raise WorkerLostError("it ended")

    async def receive(self):
        while self.lines and len(self.heard) < self.lines[0][0]:
            await self.more.wait()
            self.more.clear()
        if self.lines:
            return self.lines.pop(0)[1]
        if self.ends:
            raise WorkerLostError("it ended")
        return await asyncio.Event().wait()


def asks(ticket, text):
    request = with_key(Request(messages=(Turn(role="user", content=text),)), "testing:scripted/model")
    return CallRequested(ticket, "scripted/model", "testing:scripted/model", request)


def test_a_reply_that_has_reached_the_coordinator_is_not_paid_for_again():
    Plays((0, [Ready(1)]), (1, [asks(1, "x0")]), (2, [AttemptFinished(1, Reply(text="echo x0"))]))
    world = elsewhere(Story(trials=lambda: trials(3), work=asking()), kind=Strange, size=1)
    assert [type(message) for message in PLAYED[-1].heard[:2]] == [Assign, SendNow]
    assert world.payload == {"x1": 1, "x2": 1}
    assert [result.output.value for result in world.found] == ["echo x0", "echo x1", "echo x2"]
    assert world.call_log.in_flight == set()


def test_a_reply_that_came_and_that_nobody_waits_for_any_more_is_kept():
    gives_up = (2, [AttemptFinished(1, Reply(text="echo x0")), TicketCancelled(1)])
    Plays((0, [Ready(1)]), (1, [asks(1, "x0")]), gives_up)
    world = elsewhere(Story(trials=lambda: trials(3), work=asking()), kind=Strange, size=1)
    assert world.payload == {"x1": 1, "x2": 1}
    assert [result.output.value for result in world.found] == ["echo x0", "echo x1", "echo x2"]


def test_what_a_worker_has_said_before_it_was_found_to_have_ended_counts():
    """It cannot be told anything any more while its results wait for room."""
    said = [TrialFinished(number, 0, Output(value="from the first worker"), ()) for number in range(1, 5)]
    Plays((0, [Ready(4)]), (4, [*said, Ready(1), asks(1, "x9")]), deaf_after=4)
    limits = replace(LIMITS, window=1, batch=1)
    story = Story(trials=lambda: trials(6), work=plain(), limits=limits)
    world = elsewhere(story, kind=Strange, size=1, sink=MemorySink(seconds=1))
    assert [result.output.value == "from the first worker" for result in world.found] == [True] * 4 + [False] * 2


def test_a_request_that_is_given_up_in_the_same_breath_was_never_made():
    Plays(
        (0, [Ready(1)]),
        (1, [asks(1, "x0"), TicketCancelled(1), ServiceRequested(2, "find", ("key",)), TicketCancelled(2)]),
    )
    world = elsewhere(Story(trials=lambda: trials(1), work=asking()), kind=Strange, size=1)
    assert world.payload == {"x0": 1}


def test_a_worker_that_says_it_is_done_and_ends_is_not_lost():
    Plays((0, [Ready(2)]), (1, [TrialFinished(1, 0, Output(value="A"), ())]), (2, [WorkerDone("", 0.0)]), deaf_after=1)
    world = elsewhere(Story(trials=lambda: trials(1), work=plain()), kind=Strange, size=1)
    assert [result.output.value for result in world.found] == ["A"]


def test_a_worker_that_ended_with_a_reason_is_heard_though_it_cannot_be_told_anything():
    Plays((0, [Ready(9)]), (9, [Ready(9)]), (18, [WorkerDone("no budget", 0.0)]), deaf_after=9)
    world = elsewhere(Story(trials=lambda: trials(90), work=plain()), kind=Strange, size=1)
    assert world.outcome.reason == "no budget"
    assert world.outcome.stopped
    assert world.outcome.notes == ()


def test_a_worker_that_does_not_hear_of_a_stop_is_left_behind():
    Plays((0, [Ready(1)]), ends=False)
    stop = asyncio.Event()
    limits = replace(LIMITS, grace=3)

    async def story(work):
        asyncio.get_running_loop().call_later(60, stop.set)
        await work
        assert asyncio.get_running_loop().time() < 70

    world = elsewhere(
        Story(trials=lambda: trials(9), work=plain(), limits=limits),
        run=lambda work: run_in_virtual_time(story(work)),
        kind=Strange,
        size=1,
        stop=stop,
    )
    assert PLAYED[-1].heard[-1] == FinishWork(now=True)
    assert world.outcome.stopped


def test_a_wish_that_the_coordinator_does_not_know_ends_the_run_and_not_the_patience_of_the_worker():
    Plays((0, [ServiceRequested(1, "everything", ())]), ends=False)
    with pytest.raises(LookupError, match="everything"):
        elsewhere(Story(trials=lambda: trials(1), work=plain()), kind=Strange, size=1)


def test_calls_of_a_worker_that_ended_are_broken_off_and_their_places_given_to_others():
    Plays((0, [Ready(8)]), (8, [asks(n, f"y{n}") for n in range(8)]), (12, []))
    world = elsewhere(Story(trials=lambda: trials(20), work=asking()), kind=Strange, size=1)
    assert len(world.found) == 20
    assert Counter(type(message) for message in PLAYED[-1].heard)[SendNow] == LIMITS.jobs
    (spent,) = world.door.meter.spending()
    assert spent.calls == 20


@settings(max_examples=60)
@given(
    name=st.sampled_from(["functions", "a conversation", "a model", "a judge", "rows that cannot be read", "repeats"]),
    size=st.integers(1, 4),
    until=st.dictionaries(st.integers(0, 12), st.integers(0, 30), max_size=8),
    refused=st.sets(st.integers(1, 8), max_size=3),
    seconds=st.sampled_from([(0.0, 0.0), (0.001, 0.0), (0.1, 3.0), (2.0, 0.01)]),
    stops=st.one_of(st.none(), st.floats(0, 20)),
)
def test_whatever_the_weather_a_run_ends_and_records_nothing_twice(name, size, until, refused, seconds, stops):
    stop = asyncio.Event()

    async def story(work):
        if stops is not None:
            asyncio.get_running_loop().call_later(stops, stop.set)
        await work

    sink = MemorySink(seconds=seconds[1])
    try:
        world = elsewhere(
            replace(STORIES[name], limits=replace(LIMITS, window=8, batch=4)),
            run=lambda work: run_in_virtual_time(story(work)),
            sink=sink,
            stop=stop,
            size=size,
            until=until,
            refused=refused,
            seconds=seconds[0],
        )
    except NoWorkersError:
        assert refused
    else:
        assert world.outcome.recorded == len(sink.results)
        assert world.outcome.stopped or len(sink.results) == len(here(STORIES[name]).found)
        assert stops is not None or not world.outcome.stopped
    assert max(Counter(map(place, sink.results)).values(), default=1) == 1
