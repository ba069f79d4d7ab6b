"""How well scores tell good from bad: the published example, counting pairs, scipy and scikit-learn as second opinions."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from evalmark.stats.agreement.roc import auc, auc_interval, roc_points, youden
from tests.stats.inference.draws import SEEDS

INF = math.inf
labelled = st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=40)


def drawn(seed):
    """Scores with many ties or none, and labels: of none, one, two or more outputs, sometimes all equal or of one kind."""
    draw = random.Random(seed)
    n = draw.choice([0, 1, 2, 3, draw.randint(4, 60)])
    steps = draw.choice([1, 2, 5, 1_000_000])
    labels = [draw.random() < draw.choice([0.1, 0.5, 1.0]) for _ in range(n)]
    return [draw.randrange(steps) / steps + 0.2 * label for label in labels], labels


def test_the_example_of_scikit_learn():
    points = roc_points([0.1, 0.4, 0.35, 0.8], [False, False, True, True])
    assert [p.threshold for p in points] == [INF, 0.8, 0.4, 0.35, 0.1]
    assert [p.index for p in points] == [0, 0.5, 0, 0.5, 0]
    assert auc(points) == 0.75


def test_of_a_tie_the_higher_threshold_is_taken_and_both_are_told():
    found = youden(roc_points([0.1, 0.4, 0.35, 0.8], [False, False, True, True]))
    assert (found.threshold, found.index, found.equals) == (0.8, 0.5, (0.8, 0.35))


def test_where_lower_is_better_the_strictest_threshold_is_the_lowest():
    points = roc_points([0.9, 0.6, 0.65, 0.2], [False, False, True, True], "lower")
    assert [p.threshold for p in points] == [-INF, 0.2, 0.6, 0.65, 0.9]
    assert (auc(points), youden(points).equals) == (0.75, (0.2, 0.65))


@pytest.mark.parametrize(
    ("scores", "labels", "area"),
    [
        pytest.param([], [], None, id="nothing"),
        pytest.param([0.5], [True], None, id="one output"),
        pytest.param([0.5, 0.7], [True, True], None, id="only good ones"),
        pytest.param([0.5, 0.7], [False, False], None, id="only bad ones"),
        pytest.param([0.5] * 4, [True, False] * 2, 0.5, id="all equal"),
        pytest.param([0.2, 0.8], [False, True], 1.0, id="told apart"),
        pytest.param([0.2, 0.8], [True, False], 0.0, id="the wrong way round"),
    ],
)
def test_the_area_at_its_edges(scores, labels, area):
    points = roc_points(scores, labels)
    assert auc(points) == area
    assert (youden(points) is None) is (area != 1.0)


@pytest.mark.parametrize(
    ("scores", "labels", "said"),
    [
        pytest.param([math.nan], [True], "scores must be a finite number, got nan", id="nan"),
        pytest.param([INF], [True], "scores must be a finite number, got inf", id="infinite"),
        pytest.param([0.5], [], "1 scores but 0 labels", id="lengths"),
        pytest.param([0.5], ["up"], "true or false, got 'up'", id="a word as label"),
        pytest.param([0.5], [None], "true or false, got None", id="no label"),
    ],
)
def test_what_cannot_be_used_is_refused(scores, labels, said):
    with pytest.raises(ValueError, match=said):
        roc_points(scores, labels)


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_area_is_that_of_counting_pairs_and_of_scipy(seeds):
    for seed in seeds:
        scores, labels = drawn(seed)
        good = [s for s, label in zip(scores, labels, strict=True) if label]
        bad = [s for s, label in zip(scores, labels, strict=True) if not label]
        found = auc(roc_points(scores, labels))
        if not good or not bad:
            assert found is None, seed
            continue
        counted = sum(Fraction((g > b) + (g >= b), 2) for g in good for b in bad)
        assert found == pytest.approx(float(counted / (len(good) * len(bad))), abs=1e-15), seed
        statistic = mannwhitneyu(good, bad, method="asymptotic").statistic
        assert found == pytest.approx(statistic / (len(good) * len(bad)), abs=1e-12), seed


@pytest.mark.parametrize("seeds", SEEDS)
def test_youden_is_the_best_of_all_thresholds(seeds):
    for seed in seeds:
        scores, labels = drawn(seed)
        found, good = youden(roc_points(scores, labels)), sum(labels)
        worth = {}
        if good and good < len(labels):
            for cut in scores:
                passed = [label for s, label in zip(scores, labels, strict=True) if s >= cut]
                index = Fraction(sum(passed), good) - Fraction(len(passed) - sum(passed), len(labels) - good)
                worth[cut] = index
        best = max(worth.values(), default=Fraction(0))
        if best <= 0:
            assert found is None, seed
        else:
            assert found.equals == tuple(sorted((c for c, v in worth.items() if v == best), reverse=True)), seed
            assert (found.threshold, found.index) == (found.equals[0], pytest.approx(float(best), abs=1e-15)), seed


@pytest.mark.parametrize("seeds", SEEDS)
def test_points_and_area_are_those_of_scikit_learn(seeds):
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed: `make integration`")
    for seed in seeds:
        scores, labels = drawn(seed)
        if len(set(labels)) < 2:
            continue
        points = roc_points(scores, labels)
        false, true, thresholds = metrics.roc_curve(labels, scores, drop_intermediate=False)
        assert [p.threshold for p in points] == thresholds.tolist(), seed
        assert [p.good_passed / p.good for p in points] == pytest.approx(true.tolist()), seed
        assert [p.bad_passed / p.bad for p in points] == pytest.approx(false.tolist()), seed
        assert auc(points) == pytest.approx(metrics.roc_auc_score(labels, scores), abs=1e-12), seed


@given(labelled)
def test_turned_round_the_area_is_the_rest(rows):
    scores, labels = [float(s) for s, _ in rows], [label for _, label in rows]
    area, turned = auc(roc_points(scores, labels)), auc(roc_points(scores, labels, "lower"))
    assert (area is None and turned is None) or area + turned == pytest.approx(1)
    assert auc(roc_points([-s for s in scores], labels, "lower")) == area


@pytest.mark.parametrize(("area", "good", "bad"), [(0.75, 20, 20), (0.9, 50, 12), (0.5, 3, 3), (0.99, 200, 40)])
def test_the_ends_of_the_interval_are_as_many_errors_away_as_the_level_says(area, good, bad):
    found, more = auc_interval(area, good, bad, 0.9), (good + bad) / 2 - 1
    for end in (found.low, found.high):
        spread = end * (1 - end) / (good * bad) * (1 + more * (1 - end) / (2 - end) + more * end / (1 + end))
        assert abs(area - end) / spread**0.5 == pytest.approx(NormalDist().inv_cdf(0.95), abs=1e-9)


def test_an_area_of_1_is_no_proof_and_that_of_nothing_has_no_interval():
    found = auc_interval(1.0, 10, 10)
    assert (found.high, 0.7 < found.low < 0.9) == (1.0, True)
    assert auc_interval(0.0, 10, 10).low == 0.0
    assert auc_interval(None, 10, 0).method.startswith("none: good and bad outputs are needed")


def area_coverage(apart: float, good: int, bad: int, rounds: int) -> float:
    """How often the interval holds the area of two normal distributions so far apart."""
    draw, true = random.Random(f"{apart} {good} {bad}"), NormalDist().cdf(apart / 2**0.5)
    held = 0
    for _ in range(rounds):
        scores = [draw.gauss(apart, 1) for _ in range(good)] + [draw.gauss(0, 1) for _ in range(bad)]
        found = auc_interval(auc(roc_points(scores, [True] * good + [False] * bad)), good, bad)
        held += found.low <= true <= found.high
    return held / rounds


@pytest.mark.parametrize(("apart", "good", "bad"), [(0.0, 20, 20), (1.5, 30, 10), (3.0, 15, 60)])
def test_the_interval_holds_the_true_area(apart, good, bad):
    assert area_coverage(apart, good, bad, 300) > 0.91


@pytest.mark.sweep
@pytest.mark.parametrize(("good", "bad"), [(10, 10), (30, 10), (60, 60), (15, 150)])
@pytest.mark.parametrize("apart", [0.0, 1.0, 2.0, 3.0])
def test_how_often_the_interval_holds_the_true_area(apart, good, bad, capsys):
    held = area_coverage(apart, good, bad, 4_000)
    with capsys.disabled():
        print(f"\narea  apart={apart} good={good:<4} bad={bad:<4} {held:.3f}")  # noqa: T201  for docs/explanation/statistics.md
    assert held > 0.93
