"""Two targets compared case by case: the interval of the difference, and what it allows to say."""

# ruff: noqa: S311  seeded draws, not secrets

# ruff: noqa: S311  seeded draws, not secrets

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm, ttest_rel
from statsmodels.stats.contingency_tables import mcnemar as of_statsmodels
from statsmodels.stats.proportion import proportion_confint

from evalmark.stats.inference.differences import Clusters, clustered_difference, difference, paired_interval
from evalmark.stats.inference.dirichlet import dirichlet_interval
from evalmark.stats.inference.means import clustered_error
from evalmark.stats.inference.multiple_tests import holm
from evalmark.stats.inference.sign_flips import sign_flips

from .draws import rounds

SHARES = st.floats(0, 1).map(lambda x: round(x, 3))
PAIRS = st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=40)


def table(both: int, first: int, second: int, neither: int) -> tuple[list[float], list[float]]:
    """Pairs of passed and failed, from how many there are of each kind."""
    return (
        [1.0] * both + [1.0] * first + [0.0] * second + [0.0] * neither,
        [1.0] * both + [0.0] * first + [1.0] * second + [0.0] * neither,
    )


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        pytest.param((36, 12, 2, 0), 0.0569, 0.3404, id="the first is ahead"),
        pytest.param((36, 2, 12, 0), -0.3404, -0.0569, id="the other way round"),
    ],
)
def test_the_interval_of_paired_shares_is_the_published_one(counts, low, high):
    """Newcombe 1998, Improved confidence intervals for the difference between binomial proportions, method 10."""
    found = paired_interval(*table(*counts))
    assert (round(found.low, 4), round(found.high, 4), found.method) == (low, high, "paired score")


@pytest.mark.parametrize(
    ("pairs", "method"),
    [
        pytest.param([(1.0, 0.0)] * 5 + [(0.0, 1.0)] * 30, "paired score", id="passed or not"),
        pytest.param([(0.5, 0.0)] * 9, "paired score bound", id="few cases with repeats"),
        pytest.param([(0.5, 0.5)] * 40, "paired score bound", id="repeats, and no case differs"),
        pytest.param([(n / 10, 0.5) for n in range(11)], "Student's t of differences", id="repeats that differ"),
        pytest.param([], "none: no case was judged on both", id="no pairs"),
    ],
)
def test_the_method_is_chosen_by_the_values(pairs, method):
    assert paired_interval([a for a, _ in pairs], [b for _, b in pairs]).method == method


def test_without_any_case_that_differs_the_interval_still_has_a_width():
    found = paired_interval(*table(27, 0, 0, 0))
    assert found.low == -found.high
    assert found.high > 0.05


@given(pairs=PAIRS)
def test_an_interval_holds_the_difference_and_turns_with_its_sign(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found, turned = paired_interval(first, second), paired_interval(second, first)
    value = difference(("a", "b"), dict(enumerate(first)), dict(enumerate(second))).value
    if found.low is not None:
        assert -1 <= found.low <= value + 1e-9
        assert value - 1e-9 <= found.high <= 1
        assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low), abs=1e-9)


@pytest.mark.parametrize(
    ("p", "q", "together"), [(0.9, 0.8, 0.6), (0.95, 0.95, 0.8), (0.5, 0.3, 0.2), (0.99, 0.9, 0.0)]
)
@pytest.mark.parametrize("n", [10, 30, 100])
def test_the_interval_holds_the_true_difference_as_often_as_it_says(p, q, together, n):
    source, rounds, held = random.Random(f"{p} {q} {n}"), 400, 0
    for _ in range(rounds):
        pairs = []
        for _ in range(n):
            shared = source.random()
            pairs.append(
                tuple(float((shared if source.random() < together else source.random()) < rate) for rate in (p, q))
            )
        found = paired_interval([a for a, _ in pairs], [b for _, b in pairs])
        held += found.low <= p - q <= found.high
    assert held / rounds >= 0.92


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        pytest.param("+" * 30, "-" * 20 + "+" * 10, "better", id="clearly ahead"),
        pytest.param("-" * 20 + "+" * 10, "+" * 30, "worse", id="clearly behind"),
        pytest.param("+" * 30, "+" * 30, "cannot tell", id="equal on few cases"),
        pytest.param("+" * 400, "+" * 400, "same", id="equal on many"),
        pytest.param("+" * 399 + "-", "+" * 398 + "-+", "same", id="nearly equal on many"),
        pytest.param("", "+", "cannot tell", id="nothing in common"),
    ],
)
def test_a_verdict_is_what_the_interval_allows_to_say(first, second, outcome):
    one, other = ({("d", str(n)): float(c == "+") for n, c in enumerate(text)} for text in (first, second))
    assert difference(("a", "b"), one, other).outcome == outcome


def test_a_difference_counts_what_it_rests_on():
    first = {("d", "1"): 1.0, ("d", "2"): 0.5, ("d", "3"): 0.0, ("d", "4"): 1.0}
    second = {("d", "1"): 0.0, ("d", "2"): 0.5, ("d", "3"): 0.5, ("d", "5"): 1.0}
    found = difference(("a", "b"), first, second)
    assert (found.n, found.alone, found.up, found.down, found.p) == (3, 2, 1, 1, 1.0)
    assert found.value == pytest.approx(1 / 6)


def test_a_margin_decides_what_counts_as_the_same():
    one = {("d", str(n)): float(n % 10 > 0) for n in range(200)}
    other = {("d", str(n)): float(n % 9 > 0) for n in range(200)}
    assert difference(("a", "b"), one, other, margin=0.01).outcome == "cannot tell"
    assert difference(("a", "b"), one, other, margin=0.2).outcome == "same"


def test_two_of_two_cases_may_be_luck():
    found = difference(("a", "b"), {("d", str(n)): 1.0 for n in range(2)}, {("d", str(n)): 0.0 for n in range(2)})
    assert found.interval.low > 0
    assert (found.p, found.outcome) == (0.5, "cannot tell")


def compared(first, second, **options):
    """Two lists of values, a case each."""
    return difference(("a", "b"), *({("d", str(n)): v for n, v in enumerate(vs)} for vs in (first, second)), **options)


def test_400_cases_of_which_40_changed():
    """Both conventions of the standard error, and the mid-p test."""
    one, other = table(300, 26, 14, 60)
    found, apart = compared(one, other), [a - b for a, b in zip(one, other, strict=True)]
    assert found.value == pytest.approx(0.03)
    assert round(clustered_error(apart, range(400)), 7) == 0.0157598
    assert round(clustered_error(apart, range(400)) * math.sqrt(399 / 400), 7) == 0.0157401
    assert (round(found.p, 10), found.test, found.outcome) == (0.059583888, "mid-p McNemar", "cannot tell")
    assert found.needed == pytest.approx(7.849 * (0.1 - 0.0009) / 0.0009 - 400, rel=0.05)
    assert found.smallest == pytest.approx(math.sqrt(7.849 * 0.1 / 407.849), rel=1e-4)


MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def test_graded_scores_are_tested_by_flipping_signs():
    found = compared([0.5 + d / 200 for d in MAIZE], [0.5 - d / 200 for d in MAIZE])
    assert (found.p, found.test) == (pytest.approx(1726 / 32768), "sign flips, all counted")
    student = ttest_rel(MAIZE, [0] * 15)
    assert (round(student.statistic, 10), round(student.pvalue, 9)) == (2.1479874613, 0.049702944)
    assert (
        paired_interval([0.5 + d / 200 for d in MAIZE], [0.5 - d / 200 for d in MAIZE]).low > 0
    )  # t alone would call it
    assert (found.interval.method, found.outcome) == ("Dirichlet bound", "cannot tell")


@pytest.mark.parametrize(
    ("first", "second", "p", "test"),
    [
        pytest.param([], [], None, "none: no case differs", id="no cases"),
        pytest.param([0.5], [0.5], None, "none: no case differs", id="one, the same"),
        pytest.param([1.0], [0.0], 1.0, "exact McNemar", id="one pass"),
        pytest.param([0.7], [0.2], 1.0, "sign flips, all counted", id="one graded"),
        pytest.param([1.0, 0.5], [0.0, 0.5], 1.0, "sign flips, all counted", id="a share beside a pass"),
        pytest.param([0.3] * 50, [0.3] * 50, None, "none: no case differs", id="all equal"),
        pytest.param([0.4] * 50, [0.3] * 50, 2.0**-49, "sign flips, summed on a grid", id="all ahead by as much"),
    ],
)
def test_few_and_equal_cases(first, second, p, test):
    found = compared(first, second)
    assert (found.p, found.test) == (None if p is None else pytest.approx(p, abs=1e-11), test)


@pytest.mark.parametrize(
    ("adjusted", "outcome"),
    [
        pytest.param(None, "better", id="one metric"),
        pytest.param(0.03, "better", id="still sure among several"),
        pytest.param(0.08, "cannot tell", id="no longer sure among several"),
    ],
)
def test_an_adjusted_p_decides_where_it_is_given(adjusted, outcome):
    found = replace(compared(*table(10, 9, 1, 10)), adjusted=adjusted)
    assert round(found.p, 4) == 0.0117
    assert found.outcome == outcome


def test_holm_over_metrics_is_put_in_and_asks_for_more_cases():
    several = [compared(*table(10, up, 1, 10)) for up in (8, 8, 7)]
    adjusted = [replace(d, adjusted=p) for d, p in zip(several, holm([d.p for d in several]), strict=True)]
    assert [d.outcome for d in several] == ["better", "better", "better"]
    assert {d.outcome for d in adjusted} == {"cannot tell"}
    alone = compared(*table(10, 6, 1, 10))
    assert replace(alone, adjusted=0.5).needed > alone.needed


@pytest.mark.parametrize(
    ("first", "second", "options", "needed"),
    [
        pytest.param([], [], {}, None, id="nothing is known"),
        pytest.param("+" * 30, "-" * 20 + "+" * 10, {}, None, id="decided"),
        pytest.param("+" * 400, "+" * 400, {}, None, id="decided: the same"),
        pytest.param("++", "--", {}, 4, id="two of two: six have to change"),
        pytest.param("+" * 27, "+" * 27, {}, 118, id="none of 27 changed: to say the same"),
        pytest.param("+-" * 40, "-+" * 40, {"margin": 0.0}, None, id="no difference, and none is small enough"),
        pytest.param("+-" * 40, "-+" * 40, {"margin": 1e-7}, None, id="more than anybody has"),
    ],
)
def test_how_many_more_cases_would_decide(first, second, options, needed):
    found = compared(*([float(c == "+") for c in text] for text in (first, second)), **options)
    assert found.needed == needed


def test_the_range_of_cases_to_add_holds_the_single_number_and_is_there_with_it():
    draw = random.Random(23)
    for number in range(60):
        n, graded = draw.randrange(4, 120), number % 2
        first = [draw.random() if graded else float(draw.random() < 0.8) for _ in range(n)]
        second = [min(1, max(0, a + draw.gauss(0.03, 0.2))) if graded else float(draw.random() < 0.7) for a in first]
        found = compared(first, second)
        assert (found.needed is None) == (found.needed_range is None)
        if found.needed is not None:
            fewest, most = found.needed_range
            assert 1 <= fewest <= found.needed
            assert most is None or found.needed <= most


def test_the_range_of_cases_to_add_holds_the_right_number_where_the_single_one_does_not():
    """Of pass rates that differ by 10 points where 30 % change, 228 cases are right; `benchmarks/planning.py` draws more."""
    draw, held, single = random.Random(228), [], []
    for _ in range(40):
        moved = draw.choices([(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)], [20, 10, 70], k=60)
        found = compared(*zip(*moved, strict=True))
        if found.needed_range:
            held.append(found.needed_range[0] <= 168 <= found.needed_range[1])
            single.append(found.needed)
    assert sum(held) >= 0.8 * len(held)
    assert len(held) >= 20
    assert min(single) < 168 / 2
    assert max(single) > 2 * 168


@pytest.mark.slow
def test_with_so_many_more_cases_like_those_seen_it_is_decided():
    draw, seen = random.Random(17), set()
    for number in range(80):
        n, graded = draw.randrange(4, 60), number % 2
        first = [draw.random() if graded else float(draw.random() < 0.8) for _ in range(n)]
        second = [min(1, max(0, a + draw.gauss(0.03, 0.2))) if graded else float(draw.random() < 0.7) for a in first]
        found = compared(first, second, margin=draw.choice([0.02, 0.05, 0.1]))
        if found.needed is None:
            assert found.outcome != "cannot tell"
            continue
        if found.n + found.needed > 3_000:
            continue
        times = math.ceil((found.n + found.needed) / n)
        more = compared(first * times, second * times, margin=found.margin)
        assert more.outcome != "cannot tell", (first, second)
        seen.add(more.outcome)
    assert seen == {"better", "worse", "same"}


@pytest.mark.parametrize(
    ("first", "second", "smallest"),
    [
        pytest.param([], [], None, id="no cases"),
        pytest.param([1.0] * 5, [0.0] * 5, None, id="five cases never show anything"),
        pytest.param([1.0] * 27, [1.0] * 27, 0.2252, id="27 that are all the same"),
        pytest.param([0.1, 0.9, 0.4] * 20, [0.2, 0.7, 0.5] * 20, 2.8016 * 0.142615 / math.sqrt(60), id="graded"),
    ],
)
def test_the_smallest_difference_that_could_have_been_shown(first, second, smallest):
    found = compared(first, second).smallest
    assert found == (None if smallest is None else pytest.approx(smallest, rel=1e-3))


@pytest.mark.parametrize(
    ("first", "second", "outcome", "knows"),
    [
        pytest.param([120.0, 90.0, 310.0] * 20, [130.0, 95.0, 300.0] * 20, "cannot tell", True, id="a raw unit"),
        pytest.param([5.0, 7.0], [4.0, 6.0], "cannot tell", False, id="two that differ by as much"),
        pytest.param([5.0] * 30, [4.0] * 30, "better", False, id="all by as much: no spread to plan with"),
        pytest.param([5.0] * 30, [5.0] * 30, "cannot tell", False, id="one value only: no range to reckon with"),
        pytest.param([5.0], [4.0], "cannot tell", False, id="one case"),
        pytest.param([], [], "cannot tell", False, id="none"),
        pytest.param([1e200, 3e200] * 20, [2e200, 1e200] * 20, "cannot tell", False, id="beyond what can be squared"),
    ],
)
def test_values_in_another_unit_are_planned_for_where_they_spread(first, second, outcome, knows):
    found = compared(first, second, bounded=False, margin=0.0)
    assert found.outcome == outcome
    assert (found.needed is not None, found.smallest is not None) == (knows, knows)


def test_the_smallest_difference_is_found_in_four_of_five_attempts():
    """Passes that change as often as in 300 cases seen, and by the difference that those are said to show."""
    seen = compared(*table(200, 15, 15, 70))
    up, down = ((0.1 + sign * seen.smallest) / 2 for sign in (1, -1))
    source, found = np.random.default_rng(3), 0
    for changed_up, changed_down, _ in source.multinomial(300, [up, down, 0.9], 400):
        found += (
            compared(*table(300 - changed_up - changed_down, changed_up, changed_down, 0), margin=0).outcome == "better"
        )
    assert 0.7 < found / 400 < 0.87


def random_pairs(draw: random.Random) -> tuple[list[float], list[float]]:
    n = draw.choice([0, 1, 2, draw.randrange(3, 12), draw.randrange(12, 60)])
    kind = draw.randrange(5)
    if kind < 2:
        rate = draw.choice([0.0, 0.5, 0.9, 1.0])
        return tuple([float(draw.random() < rate) for _ in range(n)] for _ in range(2))
    if kind == 2:
        return [0.4] * n, [draw.choice([0.4, 0.6])] * n
    if kind == 3:
        return tuple([draw.randrange(5) / 4 for _ in range(n)] for _ in range(2))
    return tuple([draw.random() for _ in range(n)] for _ in range(2))


@pytest.mark.slow
@rounds(250)
def test_value_test_and_interval_are_those_of_other_libraries(rounds):
    draw = random.Random(1998)
    for _ in range(rounds):
        one, other = random_pairs(draw)
        found = compared(one, other)
        apart = np.subtract(one, other)
        if not one:
            assert (found.value, found.p, found.needed, found.smallest, found.outcome) == (None,) * 4 + ("cannot tell",)
            continue
        assert found.value == pytest.approx(apart.mean(), abs=1e-12)
        assert (found.up, found.down) == ((apart > 0).sum(), (apart < 0).sum())
        if found.test.endswith("McNemar"):
            exact = of_statsmodels([[0, found.up], [found.down, 0]]).pvalue
            half = binom.pmf(found.up, found.up + found.down, 0.5) if found.test == "mid-p McNemar" else 0.0
            assert found.p == pytest.approx(max(exact - half, 0.0) if exact < 1 else found.p, abs=1e-12)
        elif found.p is not None:
            assert found.p == sign_flips(apart.tolist()).p
        if found.interval.method == "Student's t of differences":
            low, high = ttest_rel(one, other).confidence_interval()
            expected = (max(-1.0, low), min(1.0, high))
        elif found.interval.method == "Dirichlet bound":
            bound = dirichlet_interval(apart.tolist(), -1, 1)
            expected = bound.low, bound.high
        else:
            expected = by_method_10(np.array(one), np.array(other))
        assert (found.interval.low, found.interval.high) == pytest.approx(expected, abs=1e-9)
        turned = compared(other, one)
        assert (turned.outcome, turned.p, turned.n) == (TURNED[found.outcome], pytest.approx(found.p), found.n)
        assert (turned.needed, turned.smallest) == (found.needed, pytest.approx(found.smallest))


TURNED = {"better": "worse", "worse": "better", "same": "same", "cannot tell": "cannot tell"}


def by_method_10(one, other):
    """Newcombe's method 10 as the paper has it, over the Wilson intervals of statsmodels."""
    n, p, q = len(one), one.mean(), other.mean()
    (l1, u1), (l2, u2) = (proportion_confint(share * n, n, method="wilson") for share in (p, q))
    top = (one * other).sum() / n - p * q
    top = max(0.0, top - 1 / (2 * n)) if top > 0 else top
    below = math.sqrt(p * (1 - p) * q * (1 - q))
    phi = top / below if below else 0.0
    near = math.sqrt(max(0, (p - l1) ** 2 - 2 * phi * (p - l1) * (u2 - q) + (u2 - q) ** 2))
    away = math.sqrt(max(0, (u1 - p) ** 2 - 2 * phi * (u1 - p) * (q - l2) + (q - l2) ** 2))
    return max(-1.0, p - q - near), min(1.0, p - q + away)


def test_neither_order_nor_names_matter_and_copies_make_it_surer():
    draw = random.Random(8)
    for _ in range(60):
        one, other = random_pairs(draw)
        order = draw.sample(range(len(one)), len(one))
        found, moved = compared(one, other), compared([one[i] for i in order], [other[i] for i in order])
        assert moved.outcome == found.outcome
        assert moved.value == found.value
        if found.p is None:
            assert moved.p is None
            continue
        assert moved.p == pytest.approx(found.p, rel=1e-9)
        assert compared(one * 3, other * 3).p <= found.p + 1e-12


@pytest.mark.slow
def test_nothing_is_found_where_nothing_is_more_often_than_said():
    """Five metrics of one kind each, no difference in any, Holm over them: some call in at most 5 of 100 comparisons."""
    draw, called = random.Random(99), 0
    for _ in range(400):
        found = [compared([draw.random() for _ in range(20)], [draw.random() for _ in range(20)], margin=0)]
        for rate in (0.3, 0.5, 0.8, 0.9):
            found.append(compared(*([float(draw.random() < rate) for _ in range(20)] for _ in range(2)), margin=0))
        adjusted = holm([d.p for d in found])
        called += any(replace(d, adjusted=p).outcome != "cannot tell" for d, p in zip(found, adjusted, strict=True))
    assert called / 400 < 0.05 + 2.6 * math.sqrt(0.05 * 0.95 / 400)


def test_the_p_of_ten_thousand_continuous_differences_is_close_to_that_of_the_normal_approximation():
    source = np.random.default_rng(0)
    base = source.uniform(0, 0.9, 10_000)
    sides = [(base + source.uniform(0, 0.1, 10_000)).round(d).tolist() for d in (16, 16, 2) for _ in range(2)]
    keys = [("d", str(n)) for n in range(10_000)]
    maps = [dict(zip(keys, side, strict=True)) for side in sides]
    found = [difference(("a", "b"), maps[i], maps[i + 1]) for i in range(0, 6, 2)]
    for d in found:
        z = d.value / d.spread * math.sqrt(d.n)
        assert d.p == pytest.approx(2 * norm.sf(abs(z)), rel=0.02)


@pytest.mark.parametrize("scores", [(0.0, 1.0), (0.1, 0.35, 0.9)], ids=["pass or fail", "graded"])
def test_copies_of_every_case_change_neither_interval_nor_test(scores):
    draw = random.Random(5)
    sides = [{("d", str(n)): draw.choice(scores) for n in range(40)} for _ in range(2)]
    copied = [{("d", f"{case[1]} {copy}"): v for case, v in side.items() for copy in range(3)} for side in sides]
    numbers = {case: int(case[1].split()[0]) for case in copied[0]}
    alone = difference(("a", "b"), *sides)
    found = clustered_difference(("a", "b"), tuple(copied), Clusters(numbers=numbers))
    assert (found.n, found.clusters, found.p, found.test) == (120, 40, alone.p, alone.test)
    assert found.interval.ends == pytest.approx(alone.interval.ends, abs=1e-9)
    assert found.interval.method == f"{alone.interval.method}, clustered by case"
    assert (found.smallest is None) == (alone.smallest is None)


def test_clusters_of_unequal_size_count_by_their_size():
    first = {("d", str(n)): 1.0 for n in range(60)}
    second = {("d", str(n)): float(n >= 40) for n in range(60)}
    clusters = Clusters(numbers={("d", str(n)): 0 if n < 40 else n for n in range(60)}, unit="document")
    found = clustered_difference(("a", "b"), (first, second), clusters)
    assert (found.value, found.clusters, found.outcome) == (pytest.approx(2 / 3), 21, "cannot tell")
    assert found.interval.method == "Dirichlet bound, clustered by document"
    assert difference(("a", "b"), first, second).outcome == "better"
    assert found.cluster_size == 27  # (40 * 40 + 20) / 60
    assert found.smallest is None  # as few as 60 / 27 documents


def test_intervals_of_clusters_of_unequal_size_stay_within_the_largest_possible_difference():
    cases = [("d", str(n)) for n in range(30)]
    clusters = Clusters(numbers={case: int(case[1]) // 4 for case in cases}, unit="document")
    first, second = dict.fromkeys(cases, 1.0), {case: float(case[1] in {"0", "5", "11"}) for case in cases}
    up = clustered_difference(("a", "b"), (first, second), clusters)
    down = clustered_difference(("a", "b"), (second, first), clusters)
    assert (up.interval.high, up.interval.method) == (1.0, "Student's t, clustered by document")
    assert (down.interval.low, up.outcome, down.outcome) == (-1.0, "better", "worse")


@pytest.mark.parametrize("sizes", [(4,) * 30, (20,) * 3 + (3,) * 27], ids=["equal clusters", "three with most cases"])
def test_clusters_detect_the_smallest_difference_in_four_of_five_draws(sizes):
    numbers = {("d", f"{c} {n}"): c for c, size in enumerate(sizes) for n in range(size)}
    draw = random.Random(11)

    def drawn(effect):
        apart = [draw.gauss(effect, 0.12) for _ in sizes]
        sides = ({case: 0.5 + sign * apart[c] / 2 for case, c in numbers.items()} for sign in (1, -1))
        return clustered_difference(("a", "b"), tuple(sides), Clusters(numbers=numbers))

    smallest = drawn(0.0).smallest
    found = [drawn(smallest).outcome == "better" for _ in range(60)]
    assert 0.65 < sum(found) / len(found) < 0.95
