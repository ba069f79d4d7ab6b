"""pass@k and pass^k, in fractions, by every choice of tries, and over cases."""

# ruff: noqa: S311  seeded draws, not secrets

import random
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import hypergeom

from evalmark.stats.inference.intervals import wilson
from evalmark.stats.inference.means import clustered_share_interval
from evalmark.stats.inference.repeats import mean_pass_at_k, mean_pass_hat_k, pass_at_k, pass_hat_k

from .draws import rounds


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [
        (5, 2, 1, Fraction(2, 5)),
        (5, 2, 2, Fraction(7, 10)),
        (10, 3, 5, Fraction(11, 12)),
        (200, 1, 100, Fraction(1, 2)),
        (200, 13, 10, Fraction(78115540005393, 157000030132960)),
        (4, 3, 2, Fraction(1)),
    ],
)
def test_pass_at_k_is_the_exact_fraction(n, c, k, value):
    assert pass_at_k(n, c, k) == float(value)


def test_pass_at_k_to_the_published_digits():
    assert round(pass_at_k(200, 13, 10), 10) == 0.4975511147


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [
        (5, 2, 2, Fraction(1, 10)),
        (8, 6, 2, Fraction(15, 28)),
        (8, 6, 4, Fraction(3, 14)),
        (8, 6, 8, Fraction(0)),
        (4, 3, 2, Fraction(1, 2)),
    ],
)
def test_pass_hat_k_is_the_exact_fraction(n, c, k, value):
    assert pass_hat_k(n, c, k) == float(value)


def test_neither_is_the_biased_figure_that_draws_with_replacement():
    assert (
        (pass_at_k(5, 2, 2), pass_hat_k(5, 2, 2)) != (1 - (1 - 2 / 5) ** 2, (2 / 5) ** 2) == (0.64, 0.16000000000000003)
    )


@pytest.mark.parametrize("of", [pass_at_k, pass_hat_k])
@pytest.mark.parametrize(("n", "c", "k"), [(0, 0, 1), (1, 1, 2), (4, 4, 5), (4, 0, 5)])
def test_with_fewer_tries_than_k_nothing_is_known(of, n, c, k):
    assert of(n, c, k) is None


@pytest.mark.parametrize("of", [pass_at_k, pass_hat_k])
@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (-1, 0, 1), (3, 2, 0)])
def test_what_cannot_be_is_refused(of, n, c, k):
    with pytest.raises(ValueError, match="must be"):
        of(n, c, k)


def test_they_are_shares_of_all_choices_of_k_tries():
    for n in range(1, 8):
        for c in range(n + 1):
            tries = [True] * c + [False] * (n - c)
            for k in range(1, n + 1):
                choices = list(combinations(tries, k))
                assert pass_at_k(n, c, k) == float(Fraction(sum(map(any, choices)), len(choices)))
                assert pass_hat_k(n, c, k) == float(Fraction(sum(map(all, choices)), len(choices)))


def as_a_product(n, c, k):
    """Chen et al. (2021), figure 3, which they compute in floats."""
    return 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))


@rounds(1_000)
def test_they_are_the_product_of_the_paper_and_the_hypergeometric_of_scipy(rounds):
    draw = random.Random(2021)
    drawn = []
    for _ in range(rounds):
        n = draw.choice([1, 2, draw.randrange(1, 30), draw.randrange(30, 2_000)])
        drawn.append((n, draw.choice([0, n, draw.randrange(n + 1)]), draw.choice([1, n, draw.randrange(1, n + 1)])))
    tries, passed, ks = np.array(drawn).T
    none_pass, all_pass = hypergeom.pmf(0, tries, passed, ks), hypergeom.pmf(ks, tries, passed, ks)
    for (n, c, k), none, every in zip(drawn, none_pass, all_pass, strict=True):
        assert pass_at_k(n, c, k) == pytest.approx(as_a_product(n, c, k), abs=1e-10)
        assert pass_at_k(n, c, k) == pytest.approx(1 - none, abs=1e-8)
        assert pass_hat_k(n, c, k) == pytest.approx(every, abs=1e-8)
        assert pass_hat_k(n, c, k) == pytest.approx(1 - pass_at_k(n, n - c, k), abs=1e-12)
        assert pass_hat_k(n, c, k) <= c / n + 1e-12
        assert pass_at_k(n, c, k) >= c / n - 1e-12


def test_thousands_of_tries_are_no_trouble():
    assert pass_at_k(20_000, 3, 5_000) == pytest.approx(1 - 0.75**3, abs=1e-4)
    assert pass_hat_k(20_000, 19_999, 5_000) == 0.75


def test_the_mean_is_over_cases_and_says_what_it_left_out():
    found = mean_pass_at_k([(5, 2), (5, 5), (5, 0), (1, 1)], 2)
    assert (found.k, found.n, found.left_out) == (2, 3, 1)
    assert found.value == pytest.approx((0.7 + 1 + 0) / 3)
    assert found.interval == clustered_share_interval([0.7, 1.0, 0.0], [1.0] * 3)


@pytest.mark.parametrize("of", [mean_pass_at_k, mean_pass_hat_k])
@pytest.mark.parametrize(
    ("cases", "k", "value", "n", "method"),
    [
        pytest.param([], 2, None, 0, "none: nothing was counted", id="no cases"),
        pytest.param([(1, 1)] * 9, 2, None, 0, "none: nothing was counted", id="no case has two tries"),
        pytest.param([(3, 3)], 2, 1.0, 1, "Wilson", id="one case"),
        pytest.param([(3, 3)] * 20, 3, 1.0, 20, "Wilson", id="all pass"),
        pytest.param([(3, 0)] * 20, 3, 0.0, 20, "Wilson", id="none passes"),
    ],
)
def test_few_and_equal_cases(of, cases, k, value, n, method):
    found = of(cases, k)
    assert (found.value, found.n, found.interval.method) == (value, n, method)
    assert found.interval.known is bool(n)


def test_with_one_try_each_it_is_a_pass_rate_and_its_wilson_interval():
    found = mean_pass_hat_k([(1, 1)] * 36 + [(1, 0)] * 4, 1)
    assert (found.value, found.interval) == (0.9, wilson(36, 40))


def test_cases_that_pass_in_part_have_the_interval_of_clusters():
    cases = [(8, c) for c in (8, 7, 8, 3, 5, 6, 8, 8, 1, 0, 7, 6, 8, 4, 2, 8)]
    found = mean_pass_hat_k(cases, 2)
    assert found.interval.method == "Jeffreys"
    assert 0 <= found.interval.low < found.value < found.interval.high <= 1
    assert mean_pass_hat_k(cases[::-1], 2) == found


def test_more_tries_a_case_do_not_pass_for_more_cases():
    once, often = ([(n, c * n // 4) for c in (4, 3, 1, 0, 2, 4, 4, 3, 2, 1, 0, 4)] for n in (4, 400))
    few, many = (mean_pass_at_k(cases, 1).interval for cases in (once, often))
    assert (few.low, few.high) == (many.low, many.high)


def test_the_interval_holds_the_true_chance():
    """Cases whose rates are spread evenly: the chance that two tries both pass is 1/3 on average."""
    draw, held = random.Random(12), 0
    for _ in range(150):
        rates = [draw.random() for _ in range(25)]
        found = mean_pass_hat_k([(4, sum(draw.random() < rate for _ in range(4))) for rate in rates], 2)
        held += found.interval.low <= 1 / 3 <= found.interval.high
    assert held / 150 > 0.88


def test_tries_of_cases_that_share_a_document_are_clustered_by_it():
    cases = [(3, 3)] * 10 + [(3, 1)] * 10 + [(3, 0)] * 4
    documents = [place // 7 for place in range(24)]
    apart = mean_pass_at_k(cases, 3)
    together = mean_pass_at_k(cases, 3, clusters=documents, unit="document")
    assert together.value == apart.value
    assert together.interval.low < apart.interval.low < apart.interval.high < together.interval.high
    assert (apart.interval.method, together.interval.method) == ("Wilson", "Jeffreys, clustered by document")


def test_copying_every_case_changes_no_interval_of_tries_where_copies_are_one_cluster():
    cases = [(4, 4), (4, 2), (4, 1), (4, 0), (4, 4), (4, 3)]
    once = mean_pass_hat_k(cases, 2)
    copied = mean_pass_hat_k(cases * 5, 2, clusters=[*range(6)] * 5)
    assert copied.interval.ends == pytest.approx(once.interval.ends, abs=1e-9)


def test_cases_without_enough_tries_leave_their_cluster():
    found = mean_pass_at_k([(3, 3), (1, 1), (3, 0), (3, 3)], 3, clusters=["a", "a", "b", "c"])
    assert (found.n, found.left_out, found.interval.method) == (3, 1, "Wilson")


def test_as_many_clusters_as_cases_are_required():
    with pytest.raises(ValueError, match="2 cases but 1 clusters"):
        mean_pass_at_k([(2, 1), (2, 2)], 1, clusters=["a"])
