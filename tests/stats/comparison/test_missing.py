"""Verdicts over missing values: answers that became errors or unscored, each repeat counted."""

import json
import random
from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, Run, Score, compare
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.reports.files.comparison_json import comparison_as_json
from evalmark.reports.text.comparison import change_remarks, verdict_sentence
from evalmark.stats.comparison.change import Unjudged

ERROR = "error"


def result(case, repeat, said, name="right", **fields):
    """A trial that passes or fails, has a graded score, is unscored (None) or has no output (ERROR)."""
    found = Trial(case=Case(id=f"c{case}", input=f"q{case}", **fields), dataset="d", position=case, repeat=repeat)
    if said == ERROR:
        return Result(trial=found, output=Output(error="ValueError: no answer"), scores=())
    score = Score(name=name, status="unscored")
    if said is not None:
        score = Score(name=name, raw=said, value=float(said), passed=said if isinstance(said, bool) else None)
    return Result(trial=found, output=Output(value=f"{case} {repeat} {said}"), scores=(score,))


def run(cases, metric="right", **fields):
    results = [
        result(n, k, said, metric, **fields) for n, several in enumerate(cases) for k, said in enumerate(several)
    ]
    return Run(id="", name="bot", created="", metrics=(Metric(name=metric),), results=results)


def bot(source, n, rate, repeats=1, *, lost_failures=0.0, lost=0.0):
    def one():
        passes = source.random() < rate
        return ERROR if source.random() < (lost if passes else max(lost, lost_failures)) else passes

    return run([[one() for _ in range(repeats)] for _ in range(n)])


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_failures_that_became_errors_are_no_improvement(repeats, share):
    """In each of 30 draws, of which one or two may err; `benchmarks/comparison_errors.py` draws more, and larger runs."""
    source = random.Random(27)  # noqa: S311  luck, no secret
    found = [
        compare(bot(source, 100, 0.7, repeats, lost_failures=share), bot(source, 100, 0.7, repeats)).outcome
        for _ in range(30)
    ]
    assert found.count("better") <= 4
    assert "same" not in found


def test_a_gain_is_found_though_some_answers_are_lost_by_accident():
    source = random.Random(15)  # noqa: S311  luck, no secret
    found = [compare(bot(source, 300, 0.75, lost=0.02), bot(source, 300, 0.6, lost=0.02)).outcome for _ in range(20)]
    assert found.count("better") >= 14


def test_each_missing_repeat_is_counted_and_told():
    before = [[True, True, False] if n % 3 else [True, True, True] for n in range(54)]
    now = [[True, True, ERROR] if n % 3 else [True, True, True] for n in range(54)]
    found = compare(run(now), run(before))
    assert (found.outcome, found.exit_code) == ("cannot tell", 3)
    change = found.targets[0].overall
    assert change.unjudged == (Unjudged(of=162), Unjudged(errors=36, of=162))
    assert (change.difference.judged_outcome, change.difference.worst.value, change.difference.missing) == (
        "better",
        0,
        36,
    )
    remarks = [said for _, said in change_remarks(found.targets[0])]
    assert "not scored: 36 of 162 trials in the run (36 errors)." in remarks
    doubt = "better by the scored cases alone; depending on the missing results, the difference is anywhere from +0.0 to +22.2."
    assert doubt in remarks
    assert "Missing results could change the verdict on pass rate" in verdict_sentence(found)
    document = json.loads("".join(comparison_as_json(found)))["targets"][0]["changes"][0]
    assert document["unjudged"]["run"] == {"errors": 36, "unscored": 0, "of": 162}
    assert document["difference"]["at_worst"]["outcome"] == "cannot tell"


@pytest.mark.parametrize("lost", [None, ERROR])
@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        pytest.param([0.9] * 80 + ["lost"] * 40, [0.6] * 80 + [0.1] * 40, "better", id="better also at worst"),
        pytest.param([0.9] * 80 + ["lost"] * 40, [0.8] * 80 + [0.9] * 40, "cannot tell", id="the good ones are gone"),
        pytest.param([0.7] * 120, ["lost"] * 60 + [0.3] * 60, "cannot tell", id="what they were is not known"),
        pytest.param([0.2] * 80 + ["lost"] * 10, [0.8] * 90, "worse", id="worse also at best"),
        pytest.param([0.6] * 80 + ["lost"] * 80, [0.9] * 80 + [0.2] * 80, "cannot tell", id="at best it is better"),
        pytest.param([0.8] * 120 + ["lost"] * 10, [0.8] * 130, "cannot tell", id="the same only where judged"),
    ],
)
def test_graded_verdicts_hold_whatever_the_missing_values_are(now, before, said, lost):
    """Scores differ a little from case to case."""
    sides = [
        [[lost if value == "lost" else value + (7 * n + k) % 5 / 100] for n, value in enumerate(side)]
        for k, side in enumerate((now, before))
    ]
    assert compare(*map(run, sides)).outcome == said


def edits(numbers):
    results = [result(n, 0, None if value is None else True, "edits") for n, value in enumerate(numbers)]
    found = [
        Result(
            trial=one.trial,
            output=one.output,
            scores=(
                Score(name="edits", status="unscored")
                if value is None
                else Score(name="edits", raw=value, direction="lower"),
            ),
        )
        for one, value in zip(results, numbers, strict=True)
    ]
    return Run(
        id="", name="", created="", metrics=(Metric(name="edits", unit="edits", direction="lower"),), results=found
    )


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        pytest.param([1, 2, 3] * 40, [7, 9, 8] * 40, "better", id="nothing is missing"),
        pytest.param([1, 2, 3] * 39 + [None] * 3, [7, 9, 8] * 40, "cannot tell", id="some are gone"),
        pytest.param([1, 2, 3] * 40, [7, 9, 8] * 39 + [None] * 3, "cannot tell", id="some were gone before"),
        pytest.param([7, 9, 8] * 39 + [None] * 3, [1, 2, 3] * 40, "worse", id="worse is not made good"),
    ],
)
def test_a_metric_without_known_ends_that_lost_values_is_never_better(now, before, said):
    assert compare(edits(now), edits(before)).outcome == said


def test_a_gain_of_one_metric_does_not_hide_what_another_one_lost():
    def both(name, right, polite):
        results = []
        for n, (one, other) in enumerate(zip(right, polite, strict=True)):
            score = Score(name="polite", status="unscored")
            if other is not None:
                score = Score(name="polite", raw=other, value=other)
            found = result(n, 0, one)
            results.append(Result(trial=found.trial, output=found.output, scores=(*found.scores, score)))
        return Run(id=name, name="", created="", metrics=(Metric(name="right"), Metric(name="polite")), results=results)

    was = both("then", [0.2] * 60, [1.0] * 60)
    assert compare(both("now", [0.9 - n % 3 / 10 for n in range(60)], [1.0] * 60), was).outcome == "better"
    hidden = compare(both("now", [0.9 - n % 3 / 10 for n in range(60)], [1.0] * 30 + [None] * 30), was)
    assert (hidden.outcome, hidden.exit_code) == ("cannot tell", 3)
    assert "polite" in verdict_sentence(hidden)


def test_slices_hold_whatever_is_missing_too():
    def tagged(cases):
        results = [result(n, 0, said, tags=("even" if n % 2 == 0 else "odd",)) for n, said in enumerate(cases)]
        return Run(id="", name="", created="", metrics=(Metric(name="right"),), results=results)

    before = [n % 4 > 0 for n in range(80)]  # half of the even ones fail
    now = [passed or ERROR for passed in before]
    found = compare(tagged([True] * 80), tagged(before)).targets[0]
    assert {one.tag: one.difference.outcome for one in found.slices} == {"even": "better", "odd": "cannot tell"}
    lost = compare(tagged(now), tagged(before)).targets[0]
    assert {one.tag: one.difference.outcome for one in lost.slices} == {"even": "cannot tell", "odd": "cannot tell"}


def test_outputs_that_are_what_they_were_are_the_same_though_some_repeats_have_none():
    cases = [[True, None], [True, False]] * 5
    assert compare(run(cases), run(cases)).outcome == "same"
    broken = [[True, ERROR], [True, False]] * 5
    assert compare(run(broken), run(broken)).outcome == "cannot tell"


def test_what_a_metric_was_not_asked_about_is_not_missing():
    def some(skipped):
        results = []
        for n in range(40):
            found = result(n, 0, True)
            score = Score(name="extra", raw=1.0, value=1.0) if n < 20 else Score(name="extra", status="skipped")
            scores = () if n >= 20 and not skipped else (score,)
            results.append(Result(trial=found.trial, output=found.output, scores=(*found.scores, *scores)))
        metrics = (Metric(name="right"), Metric(name="extra"))
        return Run(id="", name="", created="", metrics=metrics, results=results)

    for one, other in ((True, True), (False, False), (True, False)):
        found = compare(some(one), some(other)).targets[0]
        (extra,) = (change for change in found.changes if change.name == "extra")
        assert [side.total for side in extra.unjudged] == [0, 0]


@pytest.mark.parametrize("status", ["interrupted", "stopped", "running"])
def test_what_an_unfinished_run_did_not_come_to_is_missing(status):
    """The cases that take longest may be those that fail."""
    then = run([[n >= 10] for n in range(60)])
    now = replace(run([[True] for _ in range(40)]), status=status)
    found = compare(now, then)
    assert (found.outcome, found.exit_code) == ("cannot tell", 3)
    change = found.targets[0].overall
    assert (change.now, change.difference.n, change.difference.judged_outcome) == (1.0, 40, "better")
    assert change.unjudged == (Unjudged(of=60), Unjudged(unscored=20, of=60))
    assert (
        "The run is not finished: 20 cases of the baseline (c40, c41, c42 and 17 more) have no result in it, counted as missing."
        in found.warnings
    )
    assert compare(run([[True] for _ in range(40)]), then).outcome == "better"
    assert compare(then, now).outcome == "cannot tell"


def test_repeats_that_an_unfinished_run_did_not_come_to_are_missing():
    then = replace(run([[True, False, True] for _ in range(60)]), repeat=3)
    assert (
        compare(replace(run([[True] for _ in range(60)]), repeat=3, status="interrupted"), then).outcome
        == "cannot tell"
    )
    assert compare(run([[True] for _ in range(60)]), then).outcome == "better"


def test_a_gain_is_found_though_an_unfinished_run_lacks_a_few_cases():
    then = run([[n > 30] for n in range(100)])
    assert compare(replace(run([[True] for _ in range(98)]), status="interrupted"), then).outcome == "better"


def test_no_number_of_cases_makes_up_for_missing_results():
    then, now = run([[n >= 20] for n in range(60)]), run([[ERROR if n < 20 else True] for n in range(60)])
    found = compare(now, then).targets[0].overall.difference
    assert (found.judged_outcome, found.needed) == ("cannot tell", None)
    assert found.within == max(found.worst.within, found.best.within) > 0.3


def skipping(cases):
    """A run in which a metric skips the trials of which nothing (None) is said."""
    results = []
    for n, several in enumerate(cases):
        for k, said in enumerate(several):
            found = result(n, k, said)
            score = found.scores[0] if said is not None else Score(name="right", status="skipped")
            results.append(replace(found, output=Output(value=f"{n} {k} {said}"), scores=(score,)))
    return Run(id="", name="bot", created="", metrics=(Metric(name="right"),), results=results)


@pytest.mark.parametrize(
    ("now", "before", "said", "missing"),
    [
        pytest.param([[None, True, True]] * 60, [[False, True, True]] * 60, "cannot tell", 60, id="a repeat"),
        pytest.param([[None]] * 20 + [[True]] * 40, [[True]] * 45 + [[False]] * 15, "cannot tell", 20, id="a case"),
        pytest.param([[None, True]] * 60, [[None, False]] * 60, "better", 0, id="the same in both runs"),
        pytest.param([[None]] * 20 + [[True]] * 40, [[None]] * 20 + [[False]] * 40, "better", 0, id="cases in both"),
    ],
)
def test_what_a_metric_skips_in_one_run_alone_is_missing(now, before, said, missing):
    found = compare(skipping(now), skipping(before))
    assert found.outcome == said
    assert found.targets[0].overall.unjudged[1].total == missing


@pytest.mark.parametrize(
    ("now", "before", "said"),
    [
        pytest.param([[ERROR]] + [[0.9]] * 59, [[ERROR]] + [[0.3]] * 59, "better", id="one case is an error in both"),
        pytest.param([[ERROR]] + [[0.9]] * 59, [[0.3]] * 60, "better", id="in the run alone"),
        pytest.param([[ERROR]] + [[0.3]] * 59, [[ERROR]] + [[0.9]] * 59, "worse", id="in both, and the others are worse"),
    ],
)  # fmt: skip
def test_where_no_output_can_pass_an_error_takes_no_verdict_away(now, before, said):
    found = compare(run(now), run(before))
    assert found.outcome == said
    assert [change.name for change in found.targets[0].changes] == ["right"]


@pytest.mark.parametrize(
    ("now", "before"),
    [
        pytest.param(None, None, id="unscored in both"),
        pytest.param(None, ERROR, id="unscored after an error"),
        pytest.param(ERROR, None, id="an error after unscored"),
    ],
)
@pytest.mark.parametrize(("shift", "outcome"), [(0.3, "better"), (-0.3, "worse"), (0.0, "same")])
def test_without_a_threshold_no_pass_rate_is_lost_with_a_case_that_neither_run_scored(now, before, shift, outcome):
    graded = [0.4 + n / 1_000 for n in range(200)]
    found = compare(
        run([[now], *([value + shift] for value in graded)]), run([[before], *([value] for value in graded)])
    )
    assert (found.outcome, [change.name for change in found.targets[0].changes]) == (outcome, ["right"])


def test_a_pass_rate_that_no_case_has_any_more_is_lost():
    found = compare(run([[None], *[[0.5]] * 20]), run([[True], *[[0.5]] * 20]))
    assert found.outcome == "cannot tell"
