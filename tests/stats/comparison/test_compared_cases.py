"""Single cases of two runs: what became of each, and which is to be seen first."""

import pytest

from evalmark import Case, Output, Result, Run, Score, compare
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.reports.text import comparison
from evalmark.stats.comparison.compare import compare_by_case
from evalmark.stats.comparison.compared_cases import rank_cases


def result(case, values, target="app", repeat=0, mode="single"):
    scores = tuple(
        Score(name=name, status="unscored")
        if value is None
        else Score(name=name, raw=value, direction="lower")
        if name == "edits"
        else Score(name=name, raw=value, value=value, passed=value >= 0.5 if name == "sim" else None)
        for name, value in values.items()
    )
    trial = Trial(case=Case(id=case, input=f"say {case}"), dataset="d", target=target, repeat=repeat, mode=mode)
    return Result(trial=trial, output=Output(value=str(values)), scores=scores)


def run(name, results, **fields):
    metrics = (
        Metric(name="sim", threshold=0.5),
        Metric(name="tone"),
        Metric(name="edits", unit="edits", direction="lower"),
    )
    return Run(id=name, name="bot", created="2026-11-22T00:00:00Z", metrics=metrics, results=results, **fields)


BEFORE = {"a": 0.9, "b": 0.2, "c": 0.9, "d": 0.6, "e": 0.8, "f": 0.7}
NOW = {"a": 0.1, "b": 0.8, "c": 0.9, "d": 0.9, "e": None, "f": 0.6}


def runs():
    now = [result(case, {"sim": value, "tone": 0.5, "edits": n}) for n, (case, value) in enumerate(NOW.items())]
    then = [result(case, {"sim": value, "tone": 0.5, "edits": 5}) for case, value in BEFORE.items()]
    return run("now", now), run("then", then)


def shown(places):
    return [(place.cases.pairs[place.case][0][1], place.outcome) for place in places]


@pytest.mark.parametrize(
    ("metric", "order"),
    [
        pytest.param(
            "",
            [("a", "worse"), ("b", "better"), ("c", "same"), ("d", "same"), ("f", "same"), ("e", None)],
            id="newly failing, newly passing, then by any metric, then what could not be judged",
        ),
        pytest.param(
            "sim",
            [("a", "worse"), ("f", "worse"), ("b", "better"), ("d", "better"), ("c", "same"), ("e", None)],
            id="by one metric, the largest first",
        ),
        pytest.param(
            "edits",
            [("a", "better"), ("b", "better"), ("c", "better"), ("d", "better"), ("e", "better"), ("f", "same")],
            id="fewer edits are better",
        ),
        pytest.param("unheard of", [], id="a metric that there is not"),
    ],
)
def test_what_tells_most_comes_first(metric, order):
    _, cases = compare_by_case(*runs())
    assert shown(rank_cases(cases, metric)) == order


def test_cases_that_nobody_could_pass_are_sorted_by_the_first_metric():
    now = run("now", [result("a", {"tone": 0.5}), result("b", {"tone": 0.2})])
    then = run("then", [result("a", {"tone": 0.4}), result("b", {"tone": 0.4})])
    _, cases = compare_by_case(now, then)
    assert shown(rank_cases(cases)) == [("b", "worse"), ("a", "better")]


def test_cases_of_equal_change_are_sorted_by_all_metrics_together():
    tones = {"a": 0.5, "b": 0.1, "c": 0.9, "d": 0.2}
    now = run("now", [result(case, {"sim": 0.1 if case < "c" else 0.9, "tone": tone}) for case, tone in tones.items()])
    then = run("then", [result(case, {"sim": 0.9 if case < "c" else 0.1, "tone": 0.5}) for case in tones])
    _, cases = compare_by_case(now, then)
    assert shown(rank_cases(cases, "")) == [("b", "worse"), ("a", "worse"), ("c", "better"), ("d", "better")]


def test_the_comparison_is_the_same_with_its_cases():
    found, cases = compare_by_case(*runs())
    assert found == compare(*runs())
    overall = cases[0].change.changes[0]
    known = [cases[0].gain(0, n) for n in range(len(cases[0].pairs))]
    assert sorted(gain for gain in known if gain is not None) == list(overall.ordered)
    assert cases[0].flips["d", "a"].now == 0.0
    assert cases[0].sources == ({"d": ("d", "single")}, {"d": ("d", "single")})


def test_repeats_count_once_and_conversations_are_other_cases():
    now = run("now", [result("a", {"sim": v}, repeat=n) for n, v in enumerate([0.9, 0.1])], repeat=2)
    then = run("then", [result("a", {"sim": v}, repeat=n) for n, v in enumerate([0.9, 0.8])], repeat=2)
    _, (cases,) = compare_by_case(now, then)
    assert cases.values[0] == ((1.0, 0.5),)
    talk = run("talk", [result("a", {"sim": 0.9}, mode="conversation")])
    _, (cases,) = compare_by_case(talk, talk)
    assert cases.sources[0] == {"d (conversation)": ("d", "conversation")}


def test_two_targets_of_one_run_are_compared():
    values = [("m/a", 0.9), ("m/b", 0.1)]
    every = [result(str(n), {"sim": v}, target=target) for target, v in values for n in range(20)]
    both = run("r", every, target="m/a, m/b")
    found = compare(both, both, targets=("m/a", "m/b"))
    assert (found.outcome, found.is_of_one_run, found.warnings) == ("better", True, ())
    assert comparison.comparison_title(found) == "m/a against m/b"
    assert comparison.verdict_sentence(found) == "pass rate is 100 % against 0 %; sim is 0.900 against 0.100."
    assert compare(both, both, targets=("m/b", "m/a")).outcome == "worse"
    assert compare(both, both).outcome == "same"


def test_a_target_is_compared_with_another_of_an_earlier_run():
    now = run("now", [result("a", {"sim": 0.9}, target="m/new"), result("a", {"sim": 0.9}, target="m/b")])
    then = run("then", [result("a", {"sim": 0.1}, target="m/old"), result("a", {"sim": 0.1}, target="m/b")])
    found = compare(now, then, targets=("m/new", "m/old"))
    assert [(change.target, change.against) for change in found.targets] == [("m/new", "m/old")]
    assert found.warnings == ("The target was m/old and is now m/new.",)


def test_a_target_that_is_not_there_is_said():
    now, then = runs()
    found = compare(now, then, targets=("nobody", "app"))
    assert found.warnings == ("There is no result to compare in the run.",)
    assert found.outcome == "cannot tell"
