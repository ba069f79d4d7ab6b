"""Quality against cost and latency: who dominates whom, and what cannot be told apart."""
# ruff: noqa: S311  seeded draws, not secrets

import random
from dataclasses import replace

import pytest

from evalmark import Output, Score
from evalmark.core.errors import ConfigError
from evalmark.stats.comparison.compare import compare
from evalmark.stats.comparison.trade_offs import Candidate, trade_offs
from evalmark.stats.inference.multiple_tests import holm
from evalmark.stats.summary.summarise import summarise

from .test_missing import run


def candidate(name, rate, cost, seconds, n=200, graded=False):
    """A run that passes this share of the same cases, at a cost and a time an output; None is unknown."""
    draw = random.Random(name)
    values = [[draw.uniform(rate - 0.1, rate + 0.1) if graded else place < rate * n] for place in range(n)]
    found = run(values)
    results = [
        replace(
            one,
            output=replace(
                one.output, seconds=seconds, metadata={} if cost is None else {"calls": [f"{name}-{place}"]}
            ),
        )
        for place, one in enumerate(found.results)
    ]
    return Candidate(
        name=name,
        run=replace(found, id=f"r-{name}", results=results),
        prices=lambda keys: dict.fromkeys(keys, ("model", cost)),
    )


def standings(*candidates):
    return [(row.standing, row.others) for row in trade_offs(candidates).rows]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            [("large", 0.9, 2.0, 1.0), ("small", 0.6, 1.0, 0.5)],
            [("frontier", ()), ("frontier", ())],
            id="better costs more",
        ),
        pytest.param(
            [("good", 0.9, 1.0, 0.5), ("bad", 0.6, 2.0, 1.0)],
            [("frontier", ()), ("dominated", ("good",))],
            id="better costs less",
        ),
        pytest.param(
            [("good", 0.9, 1.0, 0.5), ("bad", 0.6, 1.0, 0.5)],
            [("frontier", ()), ("dominated", ("good",))],
            id="better costs the same",
        ),
        pytest.param(
            [("good", 0.9, 1.0, 2.0), ("quick", 0.6, 2.0, 1.0)],
            [("frontier", ()), ("frontier", ())],
            id="worse and dearer, but quicker",
        ),
        pytest.param(
            [("a", 0.905, 1.0, 0.5), ("b", 0.9, 2.0, 1.0)],
            [("frontier", ()), ("not told apart", ("a",))],
            id="hardly better and cheaper",
        ),
        pytest.param(
            [("a", 0.9, 1.0, 0.5), ("b", 0.9, 1.0, 0.5)],
            [("frontier", ()), ("frontier", ())],
            id="equal in everything",
        ),
        pytest.param(
            [("good", 0.9, None, 0.5), ("bad", 0.6, 2.0, 1.0)],
            [("frontier", ()), ("frontier", ())],
            id="the cost of the better one is unknown",
        ),
        pytest.param(
            [("good", 0.9, None, 0.5), ("bad", 0.6, None, 1.0)],
            [("frontier", ()), ("dominated", ("good",))],
            id="no cost is known",
        ),
        pytest.param(
            [("good", 0.9, None, None), ("bad", 0.6, None, None)],
            [("frontier", ()), ("dominated", ("good",))],
            id="neither costs nor times are known",
        ),
        pytest.param(
            [("a", 0.9, 1.0, 1.0), ("b", 0.6, 2.0, 2.0), ("c", 0.3, 3.0, 3.0)],
            [("frontier", ()), ("dominated", ("a",)), ("dominated", ("a", "b"))],
            id="several dominate",
        ),
    ],
)
def test_a_target_is_dominated_only_by_a_better_one_at_no_more_cost_and_time(rows, expected):
    assert standings(*(candidate(*row) for row in rows)) == expected


def test_few_cases_tell_nothing_apart():
    few = [candidate("a", 0.8, 1.0, 1.0, n=10), candidate("b", 0.6, 2.0, 2.0, n=10)]
    assert standings(*few) == [("frontier", ()), ("not told apart", ("a",))]


def test_quality_cost_and_latency_are_those_of_other_reports():
    found = candidate("a", 0.9, 0.25, 1.5)
    row = trade_offs([found, candidate("b", 0.6, None, None)]).rows[0]
    total = summarise(found.run).total
    assert (row.quality, row.interval, row.seconds) == (total.pass_rate.value, total.pass_rate.interval, 1.5)
    assert (row.cost.cost, row.run, row.n) == (0.25, "r-a", 200)


def test_what_is_unknown_is_none_and_named():
    found = trade_offs([candidate("a", 0.9, None, 1.0), candidate("b", 0.6, None, 2.0)])
    assert found.unknown == ("cost",)
    assert [row.cost.cost for row in found.rows] == [None, None]


def test_all_pairs_are_one_family_of_tests():
    """A pair that differs alone may not differ among many."""
    n = 100

    def passing(name, failed):
        one = candidate(name, 1.0, 1.0 if name == "a" else 2.0, 1.0, n=n)
        return replace(one, run=replace(run([[place not in failed] for place in range(n)]), id=name))

    runs = [passing("a", range(2)), passing("b", range(8)), *(passing(f"x{i}", range(3)) for i in range(5))]
    alone = compare(runs[0].run, runs[1].run).targets[0].overall.difference
    assert 0.005 < alone.p < 0.05
    assert trade_offs(runs[:2]).rows[1].standing == "dominated"
    many = trade_offs(runs)
    assert many.tests > 1
    assert holm([alone.p] + [1.0] * (many.tests - 1))[0] > 0.05
    assert many.rows[1].standing == "not told apart"


def test_without_verdicts_the_first_shared_metric_is_the_quality():
    found = trade_offs([candidate("a", 0.8, 1.0, 1.0, graded=True), candidate("b", 0.4, 2.0, 1.0, graded=True)])
    assert found.metric == "right"
    assert [round(row.quality, 1) for row in found.rows] == [0.8, 0.4]
    assert found.rows[1].standing == "dominated"


def test_one_target_alone_is_refused():
    with pytest.raises(ConfigError, match="needs two targets or more"):
        trade_offs([candidate("a", 0.8, 1.0, 1.0)])


def test_the_difference_of_a_pair_is_that_of_a_comparison_and_turns_round():
    good, bad = candidate("good", 0.9, 1.0, 0.5), candidate("bad", 0.6, 2.0, 1.0)
    found = trade_offs([good, bad])
    (expected,) = (target.overall.difference for target in compare(good.run, bad.run).targets)
    forwards, backwards = found.difference(0, 1), found.difference(1, 0)
    assert (forwards.value, forwards.interval, forwards.p) == (expected.value, expected.interval, expected.p)
    assert (forwards.outcome, backwards.outcome) == ("better", "worse")
    assert (backwards.value, backwards.up, backwards.down) == (-forwards.value, forwards.down, forwards.up)
    assert backwards.interval.ends == (-forwards.interval.high, -forwards.interval.low)
    assert backwards.swapped == forwards
    assert found.difference(0, 0) is None


def test_targets_of_one_run_differ_as_in_a_comparison_of_each_pair():
    made = [candidate(name, rate, 1.0, 0.5, n=60).run for name, rate in (("a", 0.9), ("b", 0.7), ("c", 0.65))]
    results = [
        replace(result, trial=replace(result.trial, target=name))
        for name, one in zip("abc", made, strict=True)
        for result in one.results
    ]
    together = replace(made[0], target="a, b, c", results=results)
    found = trade_offs([Candidate(name="all", run=together, prices=lambda keys: {})])
    for pair, names in {(0, 1): ("a", "b"), (0, 2): ("a", "c"), (1, 2): ("b", "c")}.items():
        (expected,) = compare(together, together, targets=names).targets
        assert replace(found.differences[pair], adjusted=None) == replace(expected.overall.difference, adjusted=None)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        pytest.param(lambda one: one, "same", id="all outputs and scores are identical"),
        pytest.param(
            lambda one: replace(one, output=replace(one.output, value="other")), "cannot tell", id="other outputs"
        ),
        pytest.param(
            lambda one: replace(one, scores=(*one.scores, Score(name="more", raw=0.5, value=0.5))), "cannot tell", id="one more score"
        ),
        pytest.param(
            lambda one: replace(one, output=Output(error="down"), scores=()), "cannot tell", id="an error"
        ),
    ],
)  # fmt: skip
def test_few_identical_cases_are_the_same_as_in_a_comparison(change, outcome):
    one = candidate("a", 0.5, 1.0, 1.0, n=4)
    first, *others = one.run.results
    other = replace(one.run, id="r-b", results=[*others, change(first)])
    found = trade_offs([one, replace(one, name="b", run=other)])
    assert (found.difference(0, 1).outcome, found.difference(1, 0).outcome) == (outcome, outcome)
    assert compare(one.run, other).targets[0].outcome_of(compare(one.run, other).targets[0].overall) == outcome
