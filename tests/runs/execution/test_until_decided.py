"""A run that stops as soon as its gate is decided: its order, its looks, what it keeps and says, and going on with it."""

import asyncio
import json
from dataclasses import replace

import pytest

from evalmark import Case, Gate
from evalmark.core.settings import Settings
from evalmark.core.values.run import DatasetInfo, UntilDecided
from evalmark.errors import ConfigError, RunStoppedError
from evalmark.judges import ClosedQA
from evalmark.reports.files.run_json import as_json
from evalmark.runs.execution.execute import execute
from evalmark.runs.execution.options import RunOptions
from evalmark.runs.execution.sequential_stop import case_order
from evalmark.runs.planning.models import ConfiguredModel
from evalmark.runs.planning.plan import DatasetSource, Plan, ScorerSpec
from evalmark.runs.targets.function import as_target
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.random_order import random_order
from evalmark.stats.summary.summarise import summarise
from evalmark.storage.merging.merged_run import merge_runs
from evalmark.store import open_store
from evalmark.testing.chat import ScriptedModel

CASES = 300
EIGHT_IN_TEN = Gate(min_pass_rate=0.8)


def same(output, expected):
    return output == expected


def plan(target, gate=EIGHT_IN_TEN, *, cases=CASES, fails=(), **fields):
    """Cases whose input is their place and whose right answer is just that, but for those that fail."""
    rows = [Case(id=str(n), input=n, expected=-1 if n in fails else n) for n in range(cases)]
    said = {
        "name": "numbers",
        "sources": (DatasetSource(info=DatasetInfo(name="numbers"), read=lambda note: iter(rows)),),
        "targets": (as_target(target),),
        "scorers": (ScorerSpec(scorer=same),),
        "gate": gate,
        "until_decided": True,
        "seed": 7,
    }
    return Plan(**said | fields)


class Pace:
    """Lets answers run ahead of what is on the disk by a few only: real ones take longer than a disk."""

    def __init__(self):
        self.asked, self.recorded, self.more = [], 0, asyncio.Event()

    async def go(self, number):
        self.asked.append(number)
        turn = len(self.asked)
        while turn - self.recorded > 6:
            self.more.clear()
            await self.more.wait()

    def saw(self, results):
        self.recorded += len(results)
        self.more.set()


PACE = Pace()
"""Of the test that runs."""


async def echo(number):
    await PACE.go(number)
    return number


@pytest.fixture(autouse=True)
def _pace():
    PACE.__init__()


def ran(store, wanted, **fields):
    settings = fields.pop("settings", Settings(jobs=1))
    PACE.recorded, PACE.more = len(PACE.asked), asyncio.Event()  # an event is of one loop
    return asyncio.run(execute(wanted, RunOptions(store=store, on_results=PACE.saw, settings=settings, **fields)))


@pytest.fixture
def store(world):
    with open_store(world / "s.db") as found:
        yield found


def test_a_gate_that_is_clearly_met_ends_the_run_and_what_was_saved_is_said(store):
    run = ran(store, plan(echo))
    kept, summary = store.run(run.id), summarise(run)
    assert kept.status == "complete"
    assert kept.until_decided == run.until_decided
    early = run.until_decided
    assert (early.seed, early.level, early.cases, early.outcome) == (7, 0.95, CASES, "pass")
    assert early.after <= len(run.results) < 60
    verdict = apply_gate(summary, run.gate)
    assert (verdict.outcome, verdict.exit_code, verdict.reasons) == ("pass", 0, (early.reason,))
    assert early.reason.startswith(
        f"Decided after {early.after} of 300 cases: the pass rate of all of them is from 0.8"
    )
    assert summary.missing == CASES - len(run.results)
    assert run.notes == (
        "Cases ran in random order (seed 7) until the gate was decided.",
        f"Saved: {CASES - len(run.results)} of 300 cases did not run.",
    )
    assert run.datasets[0].rows == CASES
    assert json.loads("".join(as_json(run)))["run"]["until_decided"]["after"] == early.after


def test_the_cases_are_those_that_were_drawn_first(store):
    run = ran(store, plan(echo))
    order = [position for _, position in random_order([("numbers", n) for n in range(CASES)], 7)]
    assert {result.trial.position for result in run.results} == set(order[: len(run.results)])


def test_without_a_gate_the_first_failure_in_the_order_drawn_ends_it(store):
    order = [position for _, position in random_order([("numbers", n) for n in range(CASES)], 7)]
    run = ran(store, plan(echo, None, fails={order[4], order[9]}))
    assert (run.until_decided.after, run.until_decided.outcome) == (5, "fail")
    assert apply_gate(summarise(run), run.gate).reasons == (
        f"Decided after 5 of 300 cases: '{order[4]}' failed, and every trial has to pass.",
    )


def test_fast_answers_do_not_count_before_slow_ones_that_were_drawn_earlier(store):
    """The first case drawn answers last of all; the others fail at once, and wait for it."""
    order = [position for _, position in random_order([("numbers", n) for n in range(8)], 7)]
    asked, all_others = [], asyncio.Event()

    async def slow_first(number):
        asked.append(number)
        if len(asked) == 8:
            all_others.set()
        if number == order[0]:
            await all_others.wait()
        return number

    run = ran(store, plan(slow_first, None, cases=8, fails=set(order)), settings=Settings(jobs=2))
    assert len(run.results) == 8
    assert run.until_decided.outcome is None  # everything was asked by then, so the gate says its usual word
    assert apply_gate(summarise(run), run.gate).reasons == ("8 of 8 judged trials failed.",)


def test_a_gate_that_is_not_decided_before_the_end_says_what_it_always_says(store):
    run = ran(store, plan(echo, Gate(min_pass_rate=0.5), cases=2, fails={0}))
    assert (run.status, run.until_decided.outcome, run.until_decided.cases) == ("complete", None, 2)
    assert apply_gate(summarise(run), run.gate).reasons == ("1 of 2 judged trials passed (50 %), at least 50 %.",)


def test_each_case_is_drawn_with_all_its_repeats_and_targets(store):
    other = replace(as_target(echo), name="other")
    run = ran(store, plan(echo, repeat=3, targets=(as_target(echo), other)))
    counted = {r.trial.position for r in run.results}
    assert len(run.results) == pytest.approx(6 * len(counted), abs=5)
    assert run.until_decided.outcome == "pass"


def test_a_run_that_broke_off_goes_on_in_the_same_order_and_counts_what_is_there(store):
    stop = asyncio.Event()

    async def answer(number):
        await PACE.go(number)
        if len(PACE.asked) == 5:
            stop.set()
        return number

    wanted = plan(answer)
    broken = ran(store, wanted, stop=stop)
    assert (broken.status, broken.until_decided.outcome) == ("interrupted", None)
    assert broken.until_decided.seed == 7
    done = ran(store, replace(wanted, seed=None), resume=broken.id)
    asked = PACE.asked
    assert len(asked) == len(set(asked)) == len(done.results)
    assert (done.status, done.until_decided.seed, done.until_decided.outcome) == ("complete", 7, "pass")
    assert len([note for note in done.notes if "seed 7" in note]) == 1
    order = [position for _, position in random_order([("numbers", n) for n in range(CASES)], 7)]
    assert asked == order[: len(asked)]


def test_another_seed_is_refused_where_the_order_is_known(store):
    stop = asyncio.Event()
    stop.set()
    broken = ran(store, plan(echo), stop=stop)
    with pytest.raises(ConfigError, match=r"the random order of seed 7; omit --seed 8\."):
        ran(store, plan(echo, seed=8), resume=broken.id)


def test_what_was_found_beyond_the_look_that_decided_is_kept_when_the_run_is_taken_up_again(store):
    """An error within what the gate allows is run again; the answers that came after the word was known stay."""

    async def answer(number):
        await PACE.go(number)
        if len(PACE.asked) == 1:
            raise ValueError("boom")
        return number

    wanted = plan(answer, Gate(min_pass_rate=0.8, max_errors=1))
    first = ran(store, wanted, settings=Settings(jobs=5))
    assert summarise(first).total.errors == 1
    again = ran(store, wanted, resume=first.id, retry_errors=True, settings=Settings(jobs=5))
    assert summarise(again).total.errors == 0
    assert {r.trial.id for r in first.results} <= {r.trial.id for r in again.results}
    assert again.until_decided.outcome == "pass"


def test_a_run_that_begins_in_the_order_of_its_rows_may_go_on_until_it_is_decided(store):
    stop = asyncio.Event()

    async def answer(number):
        await PACE.go(number)
        if len(PACE.asked) == 20:
            stop.set()
        return number

    wanted = plan(answer, until_decided=False)
    broken = ran(store, wanted, stop=stop)
    assert broken.until_decided is None
    done = ran(store, replace(wanted, until_decided=True), resume=broken.id)
    assert (done.status, done.until_decided.outcome) == ("complete", "pass")
    assert {r.trial.position for r in broken.results} <= {r.trial.position for r in done.results}


def test_what_the_model_calls_that_were_saved_would_have_come_to(store):
    judging = ScorerSpec(
        scorer=ClosedQA(criteria="It is a number."),
        judge=ConfiguredModel(model=ScriptedModel([{"pass": True}] * CASES), settings={}),
    )
    run = ran(store, plan(echo, scorers=(judging,)))
    left = CASES - len(run.results)
    assert (
        f"Saved: {left} of 300 cases did not run, about {left} model calls at the average of the others." in run.notes
    )


def test_a_run_that_stopped_early_is_no_whole_part_of_a_larger_one(store):
    runs = [ran(store, plan(echo, seed=seed)) for seed in (1, 2)]
    assert merge_runs(runs).status == "interrupted"


def test_an_error_that_ends_the_run_keeps_its_seed_and_decides_nothing(store):
    judging = ScorerSpec(
        scorer=ClosedQA(criteria="It is a number."),
        judge=ConfiguredModel(model=ScriptedModel([RunStoppedError("the line was cut")]), settings={}),
    )
    run = ran(store, plan(echo, scorers=(judging,)))
    assert (run.status, run.until_decided) == ("stopped", UntilDecided(seed=7, level=0.95))


def test_a_conversation_has_its_own_order():
    class Remembers:
        needs_history = True
        name = "remembers"

        def __call__(self, case):
            return True

    wanted = plan(echo, scorers=(ScorerSpec(scorer=Remembers()),))
    with pytest.raises(ConfigError, match="a metric here scores whole conversations"):
        case_order(wanted)


def test_no_cases_decide_nothing(store):
    run = ran(store, plan(echo, cases=0))
    assert (run.status, run.until_decided.outcome, run.until_decided.cases) == ("complete", None, 0)
    assert apply_gate(summarise(run), run.gate).reasons == ("No cases ran.",)


@pytest.mark.parametrize(
    ("fails", "outcome", "said"),
    [
        pytest.param(range(0, CASES, 3), "fail", ", worse.", id="worse than the baseline, though the gate would hold"),
        pytest.param((), "pass", "the same within 0.05.", id="as good as the baseline"),
    ],
)
def test_a_baseline_is_one_more_bar(store, fails, outcome, said):
    lenient = Gate(min_pass_rate=0.3)
    before = ran(store, plan(echo, lenient, until_decided=False))

    async def echo_again(number):  # the same cases, answered otherwise
        return -2 if number in fails else await echo(number)

    now = ran(store, plan(echo_again, lenient), baseline=before)
    assert now.until_decided.outcome == outcome
    assert said in now.until_decided.reason
    assert len(now.results) < CASES


def test_a_baseline_without_a_case_in_common_decides_nothing(store):
    before = ran(store, plan(echo, cases=5, until_decided=False, sources=(DatasetSource(info=DatasetInfo(name="others"), read=lambda note: iter([Case(id="x", input=1, expected=1)])),)))  # fmt: skip
    now = ran(store, plan(echo), baseline=before)
    assert "baseline" not in now.until_decided.reason
