"""What targets cost, and which of them no other beats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Case, Output, Result, Score
from evalmark.core.values.score import Trial
from evalmark.stats.summary.pareto import CostCollector, pareto_optimal

PRICES = {"a": ("large", 0.02), "b": ("large", 0.01), "c": ("free", None), "d": ("small", 0.0)}


def result(target, calls, judge=("j",)):
    trial = Trial(case=Case(id="1"), target=target)
    metadata = {} if calls is None else {"calls": calls}
    scores = (Score(name="correct", value=1.0, detail={"calls": list(judge)}),)
    return Result(trial=trial, output=Output(value="x", metadata=metadata), scores=scores)


def worths(*results):
    asked = []

    def prices(keys):
        asked.append(set(keys))
        return {key: PRICES[key] for key in keys if key in PRICES}

    found = CostCollector(prices)
    for one in results:
        found.add(one)
    return found.found(), asked


@pytest.mark.parametrize(
    ("calls", "priced", "uncalled", "unpriced", "cost"),
    [
        pytest.param([["a"], ["b"]], 2, 0, 0, 0.015, id="a call each: their mean"),
        pytest.param([["a", "b"]], 1, 0, 0, 0.03, id="two calls of an answer: their sum"),
        pytest.param([["a", "a"]], 1, 0, 0, 0.02, id="a call that is named twice is one"),
        pytest.param([["a"], ["a"]], 2, 0, 0, 0.02, id="answers that share a call cost it each, as without replay"),
        pytest.param([["a"], ["c"]], 1, 0, 1, 0.02, id="an unknown price is left out and counted"),
        pytest.param([["a", "c"]], 0, 0, 1, None, id="an answer whose price is known in part has none"),
        pytest.param([["c"]], 0, 0, 1, None, id="no price is no cost, and never 0"),
        pytest.param([["d"]], 1, 0, 0, 0.0, id="a price of 0 is a price"),
        pytest.param([None, []], 0, 2, 0, None, id="without calls nothing is known"),
        pytest.param([["tool-1"]], 0, 1, 0, None, id="calls of tools are no calls of models"),
        pytest.param([["a", "tool-1"]], 1, 0, 0, 0.02, id="beside calls of models those of tools do not count"),
        pytest.param(["a", 5, [7]], 0, 3, 0, None, id="a target may mean something else by its calls"),
    ],
)
def test_a_target_costs_what_its_own_calls_cost(calls, priced, uncalled, unpriced, cost):
    (found,), asked = worths(*(result("t", each) for each in calls))
    assert (found.priced, found.uncalled, found.unpriced) == (priced, uncalled, unpriced)
    assert found.cost == (None if cost is None else pytest.approx(cost))
    assert not any("j" in keys for keys in asked), "the calls of judges are not asked for"


def test_each_target_has_its_own_calls_and_models():
    found, _ = worths(result("one", ["a"]), result("two", ["d", "b"]), result("one", ["c"]))
    assert [(one.target, one.models, one.trials) for one in found] == [
        ("one", ("free", "large"), 2),
        ("two", ("large", "small"), 1),
    ]


def test_prices_are_asked_for_in_parts():
    _, asked = worths(*(result("t", [f"k{n}-{m}" for m in range(10)]) for n in range(450)))
    assert [len(keys) for keys in asked] == [2_000, 2_000, 500]


@pytest.mark.parametrize(
    ("points", "lower", "expected"),
    [
        pytest.param([], False, [], id="none"),
        pytest.param([(1, 0.5)], False, [True], id="one"),
        pytest.param([(1, 0.5), (2, 0.5)], False, [True, False], id="as good and dearer"),
        pytest.param([(1, 0.5), (1, 0.6)], False, [False, True], id="as dear and worse"),
        pytest.param([(1, 0.5), (2, 0.6)], False, [True, True], id="better and dearer"),
        pytest.param([(1, 0.5), (1, 0.5)], False, [True, True], id="the same twice"),
        pytest.param([(1, 0.5), (2, 0.6)], True, [True, False], id="less is better"),
    ],
)
def test_who_is_not_beaten(points, lower, expected):
    assert pareto_optimal(points, lower=lower) == expected


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1))
def test_whoever_is_beaten_is_beaten_by_one_who_is_not(points):
    best = pareto_optimal(points)
    assert any(best)
    for point, stays in zip(points, best, strict=True):
        over = [
            p for p, b in zip(points, best, strict=True) if b and p != point and p[0] <= point[0] and p[1] >= point[1]
        ]
        assert bool(over) is not stays
