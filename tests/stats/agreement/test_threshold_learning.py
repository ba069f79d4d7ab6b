"""Learned thresholds: the promise holds in simulation, the cut is that of the tests it names, bad labels are met."""

# ruff: noqa: S311  seeded draws, not secrets

import math
import random
from bisect import bisect_left
from itertools import pairwise
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalmark.stats.agreement.risk_bounds import clean_negatives_needed, failures_allowed, upper_bound
from evalmark.stats.agreement.threshold_learning import CLOSE, learn_threshold
from tests.stats.inference.draws import SEEDS, rounds

TOLERANCE = 1e-6  # where a case meets a threshold


def drawn(seed, *, clustered):
    """Scores (few steps or many), labels and cases; of none, one, two or more outputs."""
    draw = random.Random(seed)
    n, steps = draw.choice([0, 1, 2, draw.randint(3, 40), draw.randint(60, 240)]), draw.choice([1, 5, 20, 10**9])
    share = draw.choice([0.0, 0.3, 0.5, 1.0])
    labels = [draw.random() < share for _ in range(n)]
    scores = [draw.randrange(steps) / steps + 0.3 * (label and draw.random()) for label in labels]
    cases = [draw.randrange(max(1, n // 2)) for _ in range(n)] if clustered else range(n)
    return scores, labels, cases


def worst_by_case(scores, labels, cases):
    worst = {}
    for score, good, case in zip(scores, labels, cases, strict=True):
        if not good:
            worst[case] = max(score, worst.get(case, score))
    return sorted(worst.values())


def passes(score, threshold):
    return score >= threshold - TOLERANCE


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("clustered", [False, True])
def test_the_cut_is_the_most_lenient_that_the_exact_test_lets_stand(seeds, clustered):
    """Every threshold between two scores, from the strictest on, by the binomial test of its own count of cases."""
    for seed in seeds:
        scores, labels, cases = drawn(seed, clustered=clustered)
        found = learn_threshold(scores, labels, 0.1, clusters=cases)
        worst = worst_by_case(scores, labels, cases)
        assert found.bad_cases == len(worst), seed
        assert found.missing == max(0, clean_negatives_needed(0.1) - len(worst)), seed
        last, places = None, sorted(set(scores), reverse=True)
        for above, below in pairwise(places):
            if upper_bound(len(worst) - bisect_left(worst, above), len(worst)) > 0.1 + 1e-12:
                break
            if above - below > CLOSE:
                last = above, below
        kept = last is not None and any(good and s >= last[0] for s, good in zip(scores, labels, strict=True))
        assert (found.threshold is not None) is kept, seed
        if found.threshold is None:
            assert found.reason, seed
            assert (found.bound, found.in_sample, found.cross_fitted, found.method) == (None, None, None, "none"), seed
        else:
            assert [passes(s, found.threshold) for s in last] == [True, False], seed
            assert found.bound <= 0.1 + 1e-12, seed
            wrong = [passes(s, found.threshold) != good for s, good in zip(scores, labels, strict=True)]
            assert found.in_sample.false_pass + found.in_sample.false_fail == sum(wrong), seed


def draw_singles(source, n):
    return [(source.betavariate(2, 3), case) for case in range(n)]


def draw_steps(source, n):
    return [(round(source.betavariate(2, 3) * 20) / 20, case) for case in range(n)]


def draw_repeats(source, n):
    """Three outputs of each case, alike."""
    centres = [source.betavariate(2, 3) for _ in range(n)]
    return [(0.8 * centre + 0.2 * source.random(), case) for case, centre in enumerate(centres) for _ in range(3)]


def broken_promises(draw, n, rate, rounds, *, many=50_000, naive=False):
    """How often the share of all bad cases that pass a learned threshold is above what was promised."""
    everybody = worst_by_case(*zip(*[(s, False, c) for s, c in draw(random.Random(0), many)], strict=True))
    source, broken, kept = random.Random(f"{draw.__name__} {n} {rate}"), 0, 0
    for _ in range(rounds):
        bad, good = draw(source, n), [(source.betavariate(6, 2), -1 - i) for i in range(40)]
        scores, cases = zip(*bad, *good, strict=True)
        labels = [False] * len(bad) + [True] * len(good)
        threshold = learn_threshold(scores, labels, rate, clusters=cases).threshold
        if naive:  # what fails all but this share of the bad cases that were seen
            threshold = worst_by_case(scores, labels, cases)[-1 - int(rate * n)] + TOLERANCE
        if threshold is not None:
            kept += 1
            passing = len(everybody) - bisect_left(everybody, threshold)
            broken += passing / len(everybody) > rate
    return broken / rounds, kept / rounds


@pytest.mark.parametrize("draw", [draw_singles, draw_steps, draw_repeats])
def test_the_promise_holds(draw):
    rounds = 200
    broken, kept = broken_promises(draw, 93, 0.05, rounds)
    assert broken <= 0.05 + 3 * (0.05 * 0.95 / rounds) ** 0.5
    assert kept > 0.5


def test_the_promise_of_the_same_share_in_the_sample_would_not():
    assert broken_promises(draw_singles, 93, 0.05, 100, naive=True)[0] > 0.3


@pytest.mark.sweep
@pytest.mark.parametrize("draw", [draw_singles, draw_steps, draw_repeats])
@pytest.mark.parametrize(("n", "rate"), [(59, 0.05), (93, 0.05), (200, 0.05), (299, 0.01), (50, 0.2)])
def test_how_often_the_promise_is_broken(draw, n, rate, capsys):
    rounds = 4_000
    broken, kept = broken_promises(draw, n, rate, rounds, many=400_000)
    with capsys.disabled():
        print(f"\npromise  {draw.__name__:13} bad={n:<4} at most {rate:<5} broken {broken:.4f} given {kept:.3f}")  # noqa: T201
    assert broken <= 0.05 + 3 * (0.05 * 0.95 / rounds) ** 0.5


def test_a_threshold_is_a_short_number_between_what_passes_and_what_does_not():
    bad, good = [i / 1000 for i in range(600)], [0.7 + i / 1000 for i in range(100)]
    found = learn_threshold(bad + good, [False] * 600 + [True] * 100, 0.01)
    allowed = failures_allowed(600, 0.01)
    assert (allowed, found.threshold) == (1, 0.5985)  # 0.599 passes, 0.598 does not
    assert (found.in_sample.false_pass, found.in_sample.false_fail) == (1, 0)
    assert found.cross_fitted.false_fail == 0


def test_where_lower_is_better_all_is_turned_round():
    scores, labels, cases = drawn(7, clustered=True)
    scores, labels, cases = [*scores, *[0.1] * 60], [*labels, *[False] * 60], [*cases, *range(1000, 1060)]
    scores, labels, cases = [*scores, 2.0], [*labels, True], [*cases, 5000]
    higher = learn_threshold(scores, labels, 0.1, clusters=cases)
    lower = learn_threshold([-s for s in scores], labels, 0.1, clusters=cases, direction="lower")
    assert higher.threshold is not None
    assert lower.threshold == -higher.threshold
    assert (lower.auc, lower.in_sample, lower.cross_fitted) == (higher.auc, higher.in_sample, higher.cross_fitted)
    assert lower.best.threshold == -higher.best.threshold


@pytest.mark.parametrize(
    ("scores", "labels", "missing", "reason"),
    [
        pytest.param([], [], 59, "59 cases labelled bad are needed, none of which passes, and there are 0", id="nothing"),
        pytest.param([0.9], [True], 59, "and there are 0", id="one good label"),
        pytest.param([0.9], [False], 58, "and there are 1", id="one bad label"),
        pytest.param([0.2] * 58 + [0.9], [False] * 58 + [True], 1, "and there are 58", id="one too few"),
        pytest.param([0.2] * 80, [False] * 80, 0, "nothing is labelled good", id="only bad ones"),
        pytest.param([0.2] * 80, [True] * 80, 59, "and there are 0", id="only good ones"),
        pytest.param([0.5] * 120, [True, False] * 60, 0, "would let no output pass", id="all equal"),
        pytest.param([0.5, 0.5 + 1e-7] * 60, [False, True] * 60, 0, "would let no output pass", id="equal but for rounding"),
        pytest.param([0.9] + [0.2] * 60, [True] * 0 + [False] + [True] * 60, 58, "and there are 1", id="the wrong way round"),
    ],
)  # fmt: skip
def test_where_nothing_can_be_promised_it_says_why(scores, labels, missing, reason):
    found = learn_threshold(scores, labels, 0.05)
    assert (found.threshold, found.bound, found.missing) == (None, None, missing)
    assert reason in found.reason
    assert found.good + found.bad == len(scores)


def test_59_clean_cases_promise_5_per_cent_and_their_repeats_do_not():
    labels = [False] * 59 + [True]
    found = learn_threshold([0.2] * 59 + [0.9], labels, 0.05)
    assert (found.threshold, round(found.bound, 7), found.missing) == (0.6, 0.0495076, 0)
    repeated = learn_threshold([0.2] * 59 + [0.9], labels, 0.05, clusters=[i // 2 for i in range(60)])
    assert (repeated.threshold, repeated.bad_cases, repeated.missing) == (None, 30, 29)


def test_labels_that_contradict_each_other_are_counted_and_each_of_them_counts():
    scores, labels = [0.2] * 60 + [0.9] * 20 + [0.95, 0.95], [False] * 60 + [True] * 20 + [True, False]
    cases = [*range(80), "both", "both"]
    found = learn_threshold(scores, labels, 0.05, clusters=cases)
    assert (found.contradicting, found.bad_cases, found.threshold) == (1, 61, None)
    assert "no output pass that is labelled good" in found.reason  # the one that is labelled bad too is the best of all
    assert learn_threshold(scores, labels, 0.05).contradicting == 0  # without cases nobody knows that it is one output
    lenient = learn_threshold([*scores, *[0.2] * 40], labels + [False] * 40, 0.05, clusters=[*cases, *range(100, 140)])
    assert (lenient.threshold, lenient.in_sample.false_pass) == (0.6, 1)


@pytest.mark.parametrize(
    ("scores", "labels", "rate", "said"),
    [
        pytest.param([math.nan], [True], 0.05, "scores must be a finite number, got nan", id="nan"),
        pytest.param([0.5], [2], 0.05, "true or false, got 2", id="a number as label"),
        pytest.param([0.5], [True, False], 0.05, "1 scores but 2 labels", id="lengths"),
        pytest.param([0.5], [True], 0.0, "rate must be between 0 and 1", id="never a false pass"),
        pytest.param([0.5], [True], math.nan, "max_false_pass must be a finite number", id="a rate of nan"),
    ],
)
def test_what_cannot_be_used_is_refused(scores, labels, rate, said):
    with pytest.raises(ValueError, match=said):
        learn_threshold(scores, labels, rate)
    with pytest.raises(ValueError, match="1 scores but 2 clusters"):
        learn_threshold([0.5], [True], 0.05, clusters=["a", "b"])


def test_cross_fitting_keeps_the_outputs_of_a_case_together():
    """Where each case has a score of its own, a threshold of the other cases cannot have seen it."""
    source = random.Random(3)
    bad = [(score, False, f"bad {case}") for case in range(120) for score in [source.betavariate(2, 3)] * 2]
    good = [(score, True, f"good {case}") for case in range(60) for score in [source.betavariate(6, 2)] * 2]
    found = learn_threshold(*map(list, list(zip(*bad, *good, strict=True))[:2]), 0.1,
                            clusters=[case for _, _, case in bad + good])  # fmt: skip
    assert (found.in_sample.bad, found.cross_fitted.bad) == (240, 240)
    assert found.in_sample.false_pass % 2 == found.cross_fitted.false_pass % 2 == 0
    assert found.in_sample.false_pass / 2 <= failures_allowed(120, 0.1)
    assert found.best_cross_fitted.index <= found.best.index


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=60, max_size=120), st.randoms())
def test_the_order_of_outputs_does_not_move_the_threshold(rows, shuffle):
    moved = shuffle.sample(rows, len(rows))
    one, other = (learn_threshold([float(s) for s, _ in r], [label for _, label in r], 0.1) for r in (rows, moved))
    assert (one.threshold, one.bound, one.auc, one.best) == (other.threshold, other.bound, other.auc, other.best)


def documents(draw, icc, count=20, each=10):
    """Bad outputs with uniform scores that are correlated within a document, and good ones above them all."""
    normal = NormalDist()
    for document in range(count):
        shared = math.sqrt(icc) * draw.gauss(0, 1)
        for number in range(each):
            score = normal.cdf(shared + math.sqrt(1 - icc) * draw.gauss(0, 1))
            yield (2.0, True, document) if number % 2 else (score, False, document)


def documents_that_pass(threshold, icc, bad=5):
    """The true share of documents with a bad output above the threshold."""
    normal, own = NormalDist(), math.sqrt(1 - icc)
    cut = normal.inv_cdf(min(1 - 1e-9, threshold))
    steps = [-6 + 0.05 * step for step in range(241)]
    return 1 - math.fsum(0.05 * normal.pdf(z) * normal.cdf((cut - math.sqrt(icc) * z) / own) ** bad for z in steps)


@pytest.mark.parametrize("icc", [0.0, 0.3])
@rounds(300)
def test_the_promise_holds_over_20_documents_of_10_correlated_outputs(icc, rounds):
    broken = 0
    for number in range(rounds):
        scores, labels, clusters = zip(*documents(random.Random(1000 * number + round(10 * icc)), icc), strict=True)
        found = learn_threshold(scores, labels, 0.15, clusters=clusters)
        broken += documents_that_pass(found.threshold, icc) > 0.15
    assert broken <= stats.binom.ppf(0.995, rounds, 0.05)


@rounds(300)
def test_with_outputs_of_a_document_as_cases_of_their_own_the_promise_is_broken_more_often(rounds):
    """So `calibrate` has to count documents: a bad output passes with probability 1 - threshold."""
    broken = 0
    for number in range(rounds):
        scores, labels, _ = zip(*documents(random.Random(number), 0.6), strict=True)
        broken += 1 - learn_threshold(scores, labels, 0.3).threshold > 0.3
    assert broken > stats.binom.ppf(0.9999, rounds, 0.05)
