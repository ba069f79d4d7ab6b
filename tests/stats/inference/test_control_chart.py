"""Control limits: no false alarms in a sequence of looks, lasting changes found soon, limits that agree with the marks."""

import itertools
import math
import statistics

import numpy as np
import pytest

from evalmark.stats.inference.control_chart import _POWERS, ControlChart, _possible_sums


def passes(source, rates):
    return {case: (float(passed), 1) for case, passed in enumerate(source.random(len(rates)) < rates)}


def first_outside(chart, runs):
    """The number of the first run outside, and its side."""
    for number, run in enumerate(runs):
        if side := chart.add(run).outside:
            return number, side
    return None


def deterministic(source):
    return itertools.repeat(passes(source, np.full(30, 0.8)))


def flaky(source):
    own = source.beta(1.7, 0.3, 40)
    while True:
        yield passes(source, own)


def few(source):
    while True:
        yield passes(source, np.full(4, 0.7))


def with_gaps(source):
    own = source.beta(1.7, 0.3, 40)
    while True:
        run = passes(source, own)
        yield {case: one for case, one in run.items() if source.random() > 0.1}


def by_document(source):
    own = source.beta(1.7, 0.3, 15)
    while True:
        yield {document: (5.0 * (source.random() < rate), 5) for document, rate in enumerate(own)}


def graded(source):
    centre = source.beta(1.7, 0.3, 30)
    while True:
        yield {case: (float(source.beta(6 * c + 0.01, 6.01 - 6 * c)), 1) for case, c in enumerate(centre)}


@pytest.mark.parametrize("process", [deterministic, flaky, few, with_gaps, by_document, graded])
def test_hardly_any_unchanged_series_has_a_run_outside(process):
    found = []
    for seed in range(12):
        runs = itertools.islice(process(np.random.default_rng(seed)), 80)
        found.append(first_outside(ControlChart(), runs))
    assert sum(one is not None for one in found) <= 2  # at 5 % each, three or more of 12 have a chance of 2 %


@pytest.mark.parametrize(("after", "most"), [(8, 6), (30, 5)])
def test_a_pass_rate_that_falls_by_ten_points_is_found_within_a_few_runs(after, most):
    late = []
    for seed in range(12):
        source = np.random.default_rng(seed)
        own, chart = source.beta(1.7, 0.3, 100), ControlChart()
        runs = (passes(source, own if number < after else own * 0.75 / 0.85) for number in range(after + 30))
        number, side = first_outside(chart, runs) or (math.inf, "below")
        assert (number >= after, side) == (True, "below")
        late.append(number - after + 1)
    assert statistics.median(late) <= most


def test_a_rise_is_found_above():
    source, chart = np.random.default_rng(1), ControlChart()
    runs = (passes(source, np.full(60, 0.5 if number < 10 else 0.8)) for number in range(20))
    assert first_outside(chart, runs)[1] == "above"


@pytest.mark.parametrize(
    ("values", "runs"),
    [([[0, 1, 1], [1, 1, 0]], 3), ([[0.2, 0.5, 0.9], [0.1, 0.1, 0.7]], 3), ([[0, 1, 1, 0], [1, 1, 1, 0]], 4)],
)
def test_bets_are_fair_over_all_orders_of_each_units_values(values, runs):
    """The expected product of all bets is 1: each unit's values in each order, and ranks of ties integrated."""
    for power in _POWERS:
        products = []
        for orders in itertools.product(*(itertools.permutations(unit) for unit in values)):
            product = 1.0
            for look in range(2, runs + 1):
                sums = _possible_sums([[float(value) for value in order[:look]] for order in orders])
                low, high = sums.ranks(sums.place)
                product *= (high**power - low**power) / (high - low)
            products.append(product)
        assert math.isclose(statistics.fmean(products), 1.0, rel_tol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_run_is_outside_exactly_when_its_value_is_beyond_its_limits(seed):
    source = np.random.default_rng(seed)
    sides = set()
    for rate in (0.85, 0.3, 0.97):
        chart = ControlChart()
        for number in range(40):
            point = chart.add(passes(source, np.full(50, 0.85 if number < 12 else rate)))
            below = point.low is not None and point.value < point.low - 1e-12
            above = point.high is not None and point.value > point.high + 1e-12
            assert (point.outside == "below", point.outside == "above") == (below, above)
            sides.add(point.outside)
            if point.outside:
                break
    assert "below" in sides


def test_identical_runs_are_never_outside_and_their_limit_says_how_many_cases_may_fail():
    chart = ControlChart()
    for _ in range(300):
        point = chart.add(dict.fromkeys(range(50), (1.0, 1)))
        assert point.outside is None
    failing = round((1 - point.low) * 50)
    for extra, expected in ((0, None), (1, "below")):
        other = ControlChart()
        for _ in range(299):
            other.add(dict.fromkeys(range(50), (1.0, 1)))
        run = {case: (float(case >= failing + extra), 1) for case in range(50)}
        assert other.add(run).outside == expected


def test_units_that_come_and_go_are_compared_with_their_own_earlier_values():
    chart = ControlChart()
    assert chart.add({"a": (1.0, 1)}).compared == 0
    point = chart.add({"b": (0.0, 1)})
    assert (point.compared, point.low, point.high, point.outside) == (0, None, None, None)
    assert chart.add({"a": (1.0, 1), "b": (0.0, 1)}).compared == 2


def test_values_without_known_ends_have_limits_where_their_values_have_varied():
    source, chart = np.random.default_rng(2), ControlChart(ends=None)
    runs = [{case: (float(source.lognormal(1, 0.4)), 1) for case in range(40)} for _ in range(15)]
    points = [chart.add(run) for run in runs]
    assert points[-1].low is not None
    assert chart.add({case: (value * 2, n) for case, (value, n) in runs[0].items()}).outside == "above"


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1])
def test_a_share_of_false_alarms_is_between_0_and_1(share):
    with pytest.raises(ValueError, match="between 0 and 1"):
        ControlChart(share)


def test_a_run_without_values_is_refused():
    with pytest.raises(ValueError, match="at least one value"):
        ControlChart().add({})
