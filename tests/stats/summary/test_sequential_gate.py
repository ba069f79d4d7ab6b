"""A gate that is decided before every case was asked: never against what the whole run says, rarely wrong by luck."""

import random
from functools import partial

import pytest

from evalmark import Case, Gate, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo, Metric, UntilDecided
from evalmark.core.values.score import Trial
from evalmark.stats.summary.criteria import NotWorse
from evalmark.stats.summary.gate import apply_gate
from evalmark.stats.summary.random_order import OrderedResults, random_order
from evalmark.stats.summary.sequential_gate import PlannedRun, SequentialGate
from evalmark.stats.summary.summarise import summarise

CERTAIN = 1 - 1e-12
"""So sure is only what no further case can change."""


def one(place, score=None, *, dataset="d", target="t", repeat=0, error=None, case=None):
    """A result; its score may be a number, a truth value, or the status of a score that has neither."""
    if isinstance(score, bool):
        scores = (Score(name="m", raw=score, value=float(score), passed=score),)
    elif isinstance(score, str):
        scores = (Score(name="m", status=score),)
    else:
        scores = () if score is None else (Score(name="m", raw=score, value=score),)
    trial = Trial(
        case=case or Case(id=f"c{place}", input=""), dataset=dataset, target=target, position=place, repeat=repeat
    )
    return Result(trial=trial, output=Output(value="", error=error), scores=scores)


def whole(cases, **fields):
    """A run over so many cases of one dataset, on one target."""
    return PlannedRun(**{"sizes": {"d": cases}, "metrics": [Metric(name="m")], "targets": ["t"]} | fields)


def looked_at(deciding, scores):
    """The word on it after each case."""
    said = []
    for place, score in enumerate(scores):
        deciding.add([one(place, score)])
        said.append(deciding.outcome)
    return said


def test_without_a_gate_the_first_failed_trial_decides_and_a_pass_is_known_at_the_end():
    deciding = SequentialGate(None, whole(10))
    assert looked_at(deciding, [True, True, False, True]) == [None, None, "fail", "fail"]
    assert (deciding.after, deciding.reason) == (
        3,
        "Decided after 3 of 10 cases: 'c2' failed, and every trial has to pass.",
    )
    assert looked_at(SequentialGate(None, whole(10)), [True] * 10) == [None] * 10


def test_a_rate_that_is_clearly_reached_is_decided_long_before_the_end():
    deciding = SequentialGate(Gate(min_pass_rate=0.9), whole(2_000))
    looked_at(deciding, [True] * 200)
    assert (deciding.outcome, deciding.after) == ("pass", 68)
    assert deciding.reason == (
        "Decided after 68 of 2,000 cases: the pass rate of all of them is from 0.901 to 1 (95 % sure), at least 0.9."
    )


def test_what_the_rest_cannot_change_is_decided_at_any_level():
    gate = Gate(min_pass_rate=0.5)
    assert looked_at(SequentialGate(gate, whole(10), CERTAIN), [True] * 6) == [None] * 4 + ["pass"] * 2
    assert looked_at(SequentialGate(gate, whole(10), CERTAIN), [False] * 7) == [None] * 5 + ["fail"] * 2


def test_several_bars_share_what_may_go_wrong():
    gate = Gate(min_pass_rate=0.5, thresholds={"m": 0.5})
    deciding = SequentialGate(gate, whole(1_000))
    alone = SequentialGate(Gate(min_pass_rate=0.5), whole(1_000))
    looked_at(deciding, [True] * 100)
    looked_at(alone, [True] * 100)
    assert alone.after < deciding.after < 20
    assert "(97.5 % sure)" in deciding.reason


@pytest.mark.parametrize(
    ("gap", "gate", "outcome"),
    [
        pytest.param("error", Gate(min_pass_rate=0.5), None, id="an error that is not allowed leaves no pass"),
        pytest.param("error", Gate(min_pass_rate=0.5, max_errors=1), "pass", id="one that is allowed does"),
        pytest.param("unscored", Gate(min_pass_rate=0.5), None, id="an unscored trial that is not allowed leaves no pass"),
        pytest.param("unscored", Gate(min_pass_rate=0.5, max_unscored=1), "pass", id="one that is allowed does"),
        pytest.param("error", Gate(min_pass_rate=0.99), "fail", id="with a gap the gate may still fail"),
    ],
)  # fmt: skip
def test_gaps(gap, gate, outcome):
    deciding = SequentialGate(gate, whole(500))
    scores = [gap, *([True, True, True, False] * 100 if outcome != "fail" else [True, False] * 100)]
    looked_at(deciding, scores)
    assert deciding.outcome == outcome


def test_trials_that_stand_beside_the_headline_decide_nothing():
    deciding = SequentialGate(None, whole(2))
    baseline = Case(id="b", input="", tags=("baseline",), metadata={"rule": None})
    deciding.add([one(0, False, case=baseline)])
    assert (deciding.after, deciding.outcome) == (0, None)


def test_a_threshold_alone_is_decided_where_no_score_passes_or_fails():
    deciding = SequentialGate(Gate(thresholds={"m": 0.6}), whole(300))
    looked_at(deciding, [0.9, 0.8, 0.7, 0.8] * 75)
    assert deciding.outcome == "pass"
    assert deciding.after < 60


def test_numbers_without_ends_are_never_decided():
    deciding = SequentialGate(Gate(thresholds={"m": 3}, min_score=None), whole(5))
    for place in range(5):
        trial = Trial(case=Case(id=str(place), input=""), dataset="d", target="t", position=place)
        deciding.add([Result(trial=trial, output=Output(value=""), scores=(Score(name="m", raw=7.0),))])
    assert deciding.outcome is None


def some_run(draw):
    """A run of a few cases with all that may go wrong, on one target or two, and a gate with several bars."""
    cases, repeat, targets = draw.randint(1, 12), draw.choice([1, 1, 3]), draw.choice([["t"], ["t", "u"]])
    kinds = draw.choice(
        [
            [True, False],
            [True],
            [0.2, 0.7, 1.0],
            [True, "skipped"],
            [True, False, "unscored", None],
            [0.5, "skipped", "error"],
        ]
    )
    results = [
        one(place, draw.choice(kinds), repeat=n, target=target, error=draw.choice([None] * 9 + ["boom"]))
        for place in range(cases)
        for n in range(repeat)
        for target in targets
    ]
    bar = draw.choice([0.0, 0.3, 0.5, 0.9, 1.0])
    gate = Gate(
        min_pass_rate=draw.choice([None, bar]),
        thresholds=draw.choice([{}, {"m": draw.choice([0.4, 0.7, 1.0])}]),
        min_score=draw.choice([None, None, 0.5]),
        max_errors=draw.choice([0, 2, 100]),
        max_unscored=draw.choice([0, 2, 100]),
    )
    direction = draw.choice(["higher", "lower"])
    metrics = (Metric(name="m", direction=direction),)
    if direction == "lower":
        results = [
            Result(trial=r.trial, output=r.output, scores=tuple(Score(name=s.name, status=s.status, raw=s.raw, value=s.value, passed=s.passed, direction="lower") for s in r.scores))
            for r in results
        ]  # fmt: skip
    run = Run(
        id="r", name="", created="", results=results, metrics=metrics, repeat=repeat, gate=gate,
        datasets=(DatasetInfo(name="d", rows=cases),),
    )  # fmt: skip
    return run, whole(cases, metrics=metrics, targets=targets, repeat=repeat)


@pytest.mark.parametrize("block", [0, 1, *(pytest.param(block, marks=pytest.mark.slow) for block in range(2, 10))])
def test_what_is_certain_is_what_the_gate_says_of_the_whole_run(block):
    """2,000 runs with gaps, repeats and targets: at a level that luck does not reach, no word is another than the gate's."""
    words = 0
    for seed in range(200 * block, 200 * block + 200):
        draw = random.Random(seed)  # noqa: S311  seeded draws, not secrets
        run, size = some_run(draw)
        deciding = SequentialGate(run.gate, size, CERTAIN)
        for _, place in random_order([("d", place) for place in range(size.cases)], seed):
            deciding.add([result for result in run.results if result.trial.position == place])
        summary = summarise(run)
        verdict = apply_gate(summary, run.gate)
        gaps = summary.total.errors > run.gate.max_errors or summary.total.unscored > run.gate.max_unscored
        if deciding.outcome == "pass" and gaps:
            assert verdict.outcome == "cannot tell", seed
        elif deciding.outcome is not None:
            assert verdict.outcome == deciding.outcome, (seed, verdict, deciding.reason)
        words += deciding.outcome is not None
    assert words > 60


@pytest.mark.parametrize(
    ("passing", "wrong"),
    [pytest.param(54, "fail", id="just reached"), pytest.param(53, "pass", id="one case short of it")],
)
def test_false_alarms_of_a_gate_with_a_look_after_every_case_are_rare(passing, wrong):
    """400 orders of the same sixty cases; `benchmarks/sequential.py` does so for 20,000."""
    source, alarms = random.Random(20261122), 0  # noqa: S311  seeded draws, not secrets
    scores = [place < passing for place in range(60)]
    for _ in range(400):
        deciding = SequentialGate(Gate(min_pass_rate=0.9), whole(60))
        source.shuffle(scores)
        looked_at(deciding, scores[:-1])
        alarms += deciding.outcome == wrong
    assert alarms / 400 <= 0.05


@pytest.mark.parametrize(
    ("now", "margin", "outcome", "said"),
    [
        pytest.param([False, False, True, True] * 40, 0.05, "fail", "worse", id="worse"),
        pytest.param([True] * 160, 0.05, "pass", "better", id="better"),
        pytest.param([True, True, True, False] * 40, 0.4, "pass", "the same within 0.4", id="the same"),
        pytest.param([True, True, False, True] * 2, 0.01, None, "", id="cannot tell yet"),
    ],
)
def test_beside_an_earlier_run(now, margin, outcome, said):
    before = {("d", place): float(place % 4 != 3) for place in range(160)}
    bar = partial(NotWorse, before, lambda results: results[0].scores[0].value, margin)
    deciding = SequentialGate(Gate(min_pass_rate=0), whole(160), more=[bar])
    looked_at(deciding, now)
    assert deciding.outcome == outcome
    assert said in deciding.reason


def test_a_case_that_the_earlier_run_has_not_is_passed_over_and_a_missing_one_may_be_anything():
    beside = NotWorse({("d", 0): 1.0, ("d", 1): 1.0}, lambda results: None, 0.05, 0.95)
    beside.add([one(5, True)])
    assert "from -1 to +1" in beside.description
    beside.add([one(0, "unscored")])
    assert (beside.is_met, "from -1 to +0.5" in beside.description) == (None, True)


def test_the_order_is_that_of_the_seed_and_rows_that_are_added_leave_it():
    few, many = ([("d", place) for place in range(n)] for n in (50, 80))
    order = random_order(many, 1)
    assert sorted(order) == many != order
    assert [place for place in order if place in few] == random_order(few, 1) == random_order(reversed(few), 1)
    assert random_order(few, 1) != random_order(few, 2)


def test_every_order_is_as_likely_as_any_other():
    places = [("d", place) for place in range(3)]
    found = [tuple(place for _, place in random_order(places, seed)) for seed in range(6_000)]
    assert len(set(found)) == 6
    assert all(900 < found.count(order) < 1_100 for order in set(found))


def test_results_count_in_the_order_drawn_however_they_come_back():
    order, seen = [("d", 2), ("d", 0), ("d", 1)], []
    line = OrderedResults(dict.fromkeys(order, 2), order, lambda results: seen.append(results[0].trial.position))
    for place, repeat in [(0, 0), (1, 0), (1, 1), (0, 1)]:
        line.add([one(place, True, repeat=repeat)])
    assert (seen, line.left) == ([], 2)
    line.add([one(2, True), one(9, True), one(2, True, repeat=1)])
    assert (seen, line.left, line.met) == ([2, 0, 1], 0, set(order))


def test_a_word_that_was_kept_is_the_verdict_as_long_as_no_gap_is_too_many():
    early = UntilDecided(seed=1, level=0.95, cases=9, after=2, outcome="pass", reason="Decided after 2 of 9 cases.")
    run = Run(id="r", name="", created="", results=[one(0, True), one(1, True)], until_decided=early)
    verdict = apply_gate(summarise(run), None)
    assert (verdict.outcome, verdict.reasons) == ("pass", ("Decided after 2 of 9 cases.",))
    broken = Run(id="r", name="", created="", results=[one(0, True), one(1, error="boom")], until_decided=early)
    assert apply_gate(summarise(broken), None).reasons == ("1 error; at most 0 are allowed.",)
