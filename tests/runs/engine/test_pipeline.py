"""The line from trials to durable results, driven with lists and small functions."""

import asyncio
import itertools
import threading
import time
from dataclasses import dataclass, replace
from functools import partial

import pytest

from evalmark import Case, Output, Result, Score
from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.values.score import Trial
from evalmark.errors import RunStoppedError, StoreFullError
from evalmark.runs.engine.pipeline import run_trials
from evalmark.runs.engine.work import AnsweredTrial, AnsweredTurn, Conversation, EngineOutcome, Limits, Work
from evalmark.testing.memory import MemorySink
from evalmark.testing.virtual_time import run_in_virtual_time


@dataclass(frozen=True)
class Upper:
    """Answers in capitals, after a while; raises for the inputs it is told to raise for."""

    seconds: float = 0.0
    bad: dict = None
    name: str = "upper"

    async def __call__(self, case):
        if self.bad and case.input in self.bad:
            raise self.bad[case.input]
        if self.seconds:
            await asyncio.sleep(self.seconds)
        return Output(value=str(case.input).upper())


@dataclass(frozen=True)
class Shouts:
    name: str = "shouts"
    error: BaseException | None = None
    seconds: float = 0.0

    async def __call__(self, case, output):
        await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        return [Score(name=self.name, value=1.0, passed=output.value.isupper())]


def trials(count):
    return [Trial(case=Case(id=str(n), input=f"x{n}"), position=n) for n in range(count)]


UPPER, SHOUTS, LIMITS = Upper(), Shouts(), Limits()


def run(source, target=UPPER, scorers=(SHOUTS,), sink=None, limits=LIMITS, **more):
    sink = sink or MemorySink()
    work = Work(trials=source, targets={"": target}, scorers=scorers, sink=sink)
    outcome = asyncio.run(run_trials(work, limits, **more))
    return outcome, sorted(sink.results, key=lambda r: r.trial.position)


def test_every_trial_is_answered_judged_and_recorded_once():
    outcome, results = run(trials(500))
    assert (outcome.recorded, outcome.stopped) == (500, False)
    assert [r.trial.position for r in results] == list(range(500))
    assert {r.verdict for r in results} == {"pass"}


@pytest.mark.parametrize("steps", range(6))
def test_a_run_ends_whatever_step_of_the_loop_the_last_scorer_ends_in(steps):
    async def scorer(case, output):
        for _ in range(steps):
            await asyncio.sleep(0)
        return [Score(name="stepwise", value=1.0, passed=True)]

    # In a thread: a loop that waits in vain for tasks that are done would starve any timeout of its own.
    outcomes = []
    work = Work(trials=trials(2), targets={"": UPPER}, scorers=[scorer], sink=MemorySink())
    run_in_turn = partial(run_trials, work, Limits(window=1))
    thread = threading.Thread(target=lambda: outcomes.append(asyncio.run(run_in_turn())), daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert [outcome.recorded for outcome in outcomes] == [2]


class UnpicklableError(Exception):
    def __reduce__(self):
        raise TypeError("cannot be pickled")


def its_own_cause() -> Exception:
    first, second = ValueError("round and round"), KeyError("and round")
    first.__cause__, second.__cause__ = second, first
    return first


@pytest.mark.parametrize(
    ("error", "says"),
    [
        pytest.param(ValueError("no such city"), "ValueError: no such city", id="a target that raises"),
        pytest.param(SystemExit(3), "SystemExit: 3", id="a target that calls sys.exit"),
        pytest.param(TimeoutError("upstream"), "TimeoutError: upstream", id="a time-out that is the target's own"),
        pytest.param(asyncio.CancelledError(), "CancelledError", id="a target that cancels itself"),
        pytest.param(KeyError("a\nb"), "KeyError: 'a\\nb'", id="a message of two lines"),
        pytest.param(ValueError("x" * 10_000_000), "… (10,000,000 characters)", id="a message of 10 MB"),
        pytest.param(UnpicklableError("no"), "UnpicklableError: no", id="an error that cannot be pickled"),
        pytest.param(its_own_cause(), "ValueError: round and round", id="causes that go in a circle"),
    ],
)
def test_a_failing_target_is_a_result_and_the_others_finish(error, says):
    outcome, results = run(trials(20), Upper(bad={"x7": error}))
    assert outcome.recorded == 20
    assert results[7].output.error.endswith(says)
    assert len(results[7].output.error) < 2_100
    assert results[7].verdict == "error"
    assert results[7].scores[0].status == "skipped"
    assert {r.verdict for r in results if r.trial.position != 7} == {"pass"}


class UnprintableError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero", id="it raises"),
        pytest.param(SystemExit("bye"), "SystemExit: bye", id="it exits"),
        pytest.param(UnprintableError(), "UnprintableError: (its text cannot be shown)", id="its error has no text"),
    ],
)
def test_a_failing_scorer_is_an_error_score_and_the_other_scorers_count(error, reason):
    _, results = run(trials(3), scorers=(Shouts(), Shouts(name="broken", error=error)))
    assert [s.status for s in results[0].scores] == ["scored", "error"]
    assert results[0].scores[1].reason == reason


def test_a_target_that_hangs_is_cut_off_at_the_time_limit():
    _, results = run(trials(4), Upper(seconds=60), limits=Limits(timeout=0.05))
    assert {r.output.error for r in results} == {"no answer within 0.05 s"}
    assert all(r.output.seconds >= 0.05 for r in results)


def test_a_scorer_that_hangs_is_cut_off_at_the_time_limit():
    _, results = run(trials(2), scorers=(Shouts(seconds=60),), limits=Limits(timeout=0.05))
    assert {r.scores[0].reason for r in results} == {"no score within 0.05 s"}


def test_a_result_among_the_trials_is_recorded_as_it_is():
    broken = Result(trial=Trial(case=Case(id="row 3"), position=3), output=Output(error="cases.csv:4: too few cells"))
    outcome, results = run([*trials(3), broken])
    assert outcome.recorded == 4
    assert results[3] == broken


def test_no_more_than_jobs_answers_at_once():
    running, most = 0, 0

    @dataclass(frozen=True)
    class Counting:
        name: str = "counting"

        async def __call__(self, case):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1
            return Output(value="A")

    run(trials(60), Counting(), limits=Limits(jobs=7))
    assert most == 7


def test_trials_in_judging_stay_within_the_window_and_are_read_as_needed():
    read = 0
    judged = 0
    furthest = 0

    def source():
        nonlocal read
        for trial in trials(400):
            read += 1
            yield trial

    @dataclass(frozen=True)
    class Slow:
        name: str = "slow"

        async def __call__(self, case, output):
            nonlocal judged, furthest
            furthest = max(furthest, read - judged)
            await asyncio.sleep(0.001)
            judged += 1
            return []

    run(source(), scorers=(Slow(),), limits=Limits(jobs=3, window=20))
    assert judged == 400
    assert furthest <= 20 + 3


def test_no_result_waits_for_those_that_came_after_it_while_the_queue_is_full():
    class SlowSink(MemorySink):
        async def write(self, results):
            await asyncio.sleep(0)
            await super().write(results)

    came = []

    @dataclass(frozen=True)
    class Notes(Shouts):
        may_block: bool = False

        async def __call__(self, case, output):
            came.append(int(case.id))
            return ()

    sink = SlowSink()
    run(trials(200), sink=sink, scorers=(Notes(),), limits=Limits(jobs=8, window=16))
    assert [result.trial.position for result in sink.results] == came


def test_a_full_disk_ends_the_run_and_keeps_what_was_acknowledged():
    heard = []
    sink = MemorySink(full_after=30)
    with pytest.raises(StoreFullError):
        run(
            (Trial(case=Case(id=str(n), input="x"), position=n) for n in itertools.count()),
            sink=sink,
            limits=Limits(batch=10),
            watch=lambda results: heard.extend(results),
        )
    assert heard == sink.results
    assert len(heard) <= 30


def stop_after(count):
    """A `watch` that asks for a stop once `count` results are durable, and its event."""
    stop, seen = asyncio.Event(), []

    def watch(results):
        seen.extend(results)
        if len(seen) >= count:
            stop.set()

    return {"stop": stop, "watch": watch}


def test_a_stop_starts_nothing_new_and_finishes_what_is_under_way():
    outcome, results = run(trials(1_000), Upper(seconds=0.002), **stop_after(50))
    assert outcome.stopped
    assert 50 <= len(results) < 1_000
    assert outcome.recorded == len(results)


def test_after_the_grace_trials_under_way_are_given_up():
    stop = asyncio.Event()

    @dataclass(frozen=True)
    class Endless:
        name: str = "endless"

        async def __call__(self, case):
            stop.set()
            await asyncio.sleep(600)

    outcome, results = run(trials(3), Endless(), limits=Limits(grace=0.05), stop=stop)
    assert outcome.stopped
    assert results == []


def test_a_target_that_blocks_the_loop_is_noticed():
    @dataclass(frozen=True)
    class Blocking:
        name: str = "blocking"

        async def __call__(self, case):
            time.sleep(1.2)  # noqa: ASYNC251  this is the fault under test
            await asyncio.sleep(0)
            return Output(value="A")

    outcome, _ = run(trials(1), Blocking())
    assert outcome.longest_block > 0.5


def test_nothing_to_do_is_no_fault():
    assert run([]) == (EngineOutcome(recorded=0, stopped=False, longest_block=0.0), [])


@dataclass(frozen=True)
class Remembers:
    """Answers with how many messages there were before."""

    name: str = "remembers"
    bad: str = ""

    async def __call__(self, case):
        if case.input == self.bad:
            raise ValueError("no")
        return Output(value=f"{case.input} after {[turn.content for turn in case.history]}")


@dataclass(frozen=True)
class Length:
    name: str

    async def __call__(self, case, output):
        return [Score(name=self.name, raw=len(case.history), value=1.0)]


def turns(count):
    return [replace(trial, mode="conversation") for trial in trials(count)]


def test_each_turn_of_a_conversation_knows_those_before_it_and_its_own_scorers_judge_it():
    sink = MemorySink()
    work = Work(
        trials=[Conversation(target="", turns=turns(3)), *trials(1)],
        targets={"": Remembers()},
        scorers=[Length("single")],
        turn_scorers=[Length("turn")],
        sink=sink,
    )
    asyncio.run(run_trials(work))
    said = [(r.trial.mode, r.trial.position, r.scores[0].name, r.scores[0].raw, r.output.value) for r in sink.results]
    first = "x0 after []"
    second = f"x1 after {['x0', first]}"
    assert sorted(said) == [
        ("conversation", 0, "turn", 0, first),
        ("conversation", 1, "turn", 2, second),
        ("conversation", 2, "turn", 4, f"x2 after {['x0', first, 'x1', second]}"),
        ("single", 0, "single", 0, first),
    ]
    assert all(r.trial.case.history == () for r in sink.results), "what is kept is the row as it was read"


def test_a_turn_without_an_answer_is_left_out_of_the_history_and_a_recorded_one_is_part_of_it():
    first, *rest = turns(4)
    told = Conversation(target="", turns=[AnsweredTurn(case=first.case, output=Output(value="kept")), *rest])
    outcome, results = run([told], target=Remembers(bad="x1"), scorers=())
    assert outcome.recorded == 3
    assert [r.output.value or r.output.error for r in results] == [
        "ValueError: no",
        "x2 after ['x0', 'kept']",
        "x3 after ['x0', 'kept', 'x2', \"x2 after ['x0', 'kept']\"]",
    ]


def test_each_conversation_begins_with_a_target_that_knows_no_other():
    begun = []

    class Fresh(Upper):
        def new_conversation(self):
            begun.append(self)
            return Upper()

    run([Conversation(target="", turns=turns(2)), Conversation(target="", turns=turns(2))], target=Fresh(), scorers=())
    assert len(begun) == 2


def stops_at(limit):
    left = iter(range(limit))

    async def called(*_):
        await asyncio.sleep(0)
        if next(left, None) is None:
            raise RunStoppedError("the budget is reached")

    return called


@dataclass(frozen=True)
class Spends:
    """A target and a scorer in one; asks something that may end the run."""

    ask: object
    name: str = "spends"

    async def __call__(self, case, output=None):
        await self.ask()
        return Output(value="A") if output is None else [Score(name=self.name, value=1.0, passed=True)]


@pytest.mark.parametrize(
    ("target", "scorers"),
    [
        pytest.param(Spends(stops_at(20)), [SHOUTS], id="a target that may ask no more"),
        pytest.param(UPPER, [Spends(stops_at(20))], id="a scorer that may ask no more"),
        pytest.param(UPPER, [SHOUTS, Spends(stops_at(20))], id="one of several scorers"),
    ],
)
def test_a_run_that_may_make_no_further_call_ends_and_records_nothing_of_what_needed_it(target, scorers):
    outcome, results = run(trials(1000), target=target, scorers=scorers)
    assert outcome.stopped
    assert outcome.reason == "the budget is reached"
    assert outcome.recorded == len(results) == 20
    assert {r.verdict for r in results} == {"pass"}


def test_calls_made_anywhere_in_a_trial_are_counted_for_it_and_for_its_repeat():
    seen = []

    class Asks(Upper):
        async def __call__(self, case):
            await asyncio.gather(*(self.ask() for _ in range(2)))
            return Output(value="A")

        async def ask(self):
            await asyncio.sleep(0)
            seen.append((current_trial_context().repeat, current_trial_context().count_use("hash")))

    class Judges(Shouts):
        async def __call__(self, case, output):
            seen.append((current_trial_context().repeat, current_trial_context().count_use("hash")))
            return []

    run([replace(trial, repeat=n) for n, trial in enumerate(trials(2))], target=Asks(), scorers=[Judges(), Judges()])
    assert sorted(seen) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize("conversation", [False, True])
def test_outputs_of_another_run_are_judged_anew_and_the_target_is_not_asked(conversation):
    asked = [AnsweredTrial(trial=trial, output=Output(value=f"kept {trial.case.id}")) for trial in turns(2)]
    if not conversation:
        asked = [replace(item, trial=replace(item.trial, mode="single")) for item in asked]
    sink = MemorySink()
    work = Work(
        trials=[Conversation(target="", turns=asked)] if conversation else asked,
        targets={"": Upper(bad={"x0": ValueError("asked"), "x1": ValueError("asked")})},
        scorers=[Length("length")],
        turn_scorers=[Length("length")],
        sink=sink,
    )
    asyncio.run(run_trials(work))
    found = sorted((r.trial.position, r.output.value, r.scores[0].raw) for r in sink.results)
    assert found == [(0, "kept 0", 0), (1, "kept 1", 2 if conversation else 0)]


@pytest.mark.parametrize(("seconds", "status"), [(0.0, "scored"), (60.0, "error")])
def test_a_time_limit_counts_the_work_and_not_the_waiting(seconds, status):
    class Waits(Shouts):
        async def __call__(self, case, output):
            for _ in range(2):
                with current_trial_context().waiting():
                    await asyncio.sleep(3600)
            await asyncio.sleep(seconds)
            return [Score(name="waits", value=1.0, passed=True)]

    sink = MemorySink()
    work = Work(trials=trials(1), targets={"": UPPER}, scorers=[Waits()], sink=sink)
    run_in_virtual_time(run_trials(work, Limits(timeout=30)))
    assert [s.status for r in sink.results for s in r.scores] == [status]


def test_every_trial_is_asked_of_the_target_that_it_names():
    sink = MemorySink()
    both = {"loud": UPPER, "odd": Upper(bad={"x0": ValueError("odd")})}
    asked = [replace(trial, target=name) for trial in trials(2) for name in both]
    work = Work(trials=asked, targets=both, scorers=(), sink=sink)
    asyncio.run(run_trials(work, LIMITS))
    found = {(r.trial.case.id, r.trial.target): r.output.value or r.output.error for r in sink.results}
    assert found == {("0", "loud"): "X0", ("1", "loud"): "X1", ("0", "odd"): "ValueError: odd", ("1", "odd"): "X1"}


def test_a_target_that_is_not_there_is_the_error_of_its_trial():
    (result,) = run([replace(trials(1)[0], target="gone")])[1]
    assert result.output.error == "LookupError: there is no target called 'gone' in this run"


@pytest.mark.parametrize(
    ("count", "limits", "batches"),
    [
        pytest.param(10, Limits(jobs=1), [(n + 1, 1) for n in range(10)], id="each at once without an interval"),
        pytest.param(10, Limits(jobs=1, write_interval=3.4), [(1, 1), (4.4, 3), (7.8, 3), (10, 3)], id="in intervals"),
        pytest.param(
            3, Limits(jobs=1, write_interval=99.0), [(1, 1), (3, 2)], id="the rest at the end, without a wait"
        ),
        pytest.param(
            9, Limits(jobs=1, write_interval=99.0, window=6), [(1, 1), (5, 4), (9, 4)], id="earlier if many wait"
        ),
    ],
)
def test_results_are_written_together_once_the_interval_is_over(count, limits, batches):
    class Times(MemorySink):
        async def write(self, results):
            await super().write(results)
            written.append((asyncio.get_running_loop().time(), len(results)))

    written = []
    work = Work(trials=trials(count), targets={"": Upper(seconds=1.0)}, scorers=(SHOUTS,), sink=Times())
    run_in_virtual_time(run_trials(work, limits))
    assert [(round(seconds, 3), results) for seconds, results in written] == batches


def test_a_result_whose_call_cannot_be_replayed_is_written_at_once():
    class Calls(Upper):
        async def __call__(self, case):
            current_trial_context().has_unreplayable_call = case.id in ("4", "5")
            return await super().__call__(case)

    class Times(MemorySink):
        async def write(self, results):
            await asyncio.sleep(0.5)
            written.append((asyncio.get_running_loop().time(), [result.trial.case.id for result in results]))

    written = []
    limits = Limits(jobs=1, write_interval=99.0)
    work = Work(trials=trials(8), targets={"": Calls(seconds=1.0)}, scorers=(SHOUTS,), sink=Times())
    run_in_virtual_time(run_trials(work, limits))
    assert written == [(1.5, ["0"]), (5.5, ["1", "2", "3", "4"]), (6.5, ["5"]), (8.5, ["6", "7"])]
