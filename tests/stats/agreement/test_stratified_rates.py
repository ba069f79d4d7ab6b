"""A pass rate from labels that were chosen by verdict, and whether labels were."""

import math
import random
from itertools import product

import pytest
from scipy.stats import beta, binom, fisher_exact, t

from evalmark.stats.agreement.stratified_rates import labelled_at_random, stratified_rate


def outputs(*strata):
    """Verdicts and labels: of each stratum the number of outputs, of those labelled good, and of those labelled bad."""
    judged, labels = [], []
    for verdict, (n, good, bad) in zip((True, False), strata, strict=True):
        judged += [verdict] * n
        labels += [1.0] * good + [0.0] * bad + [None] * (n - good - bad)
    return judged, labels


def coverage(passed, n, labelled, good, level=0.95):
    """How often the interval holds the true rate, counted out over all labels; shares of outputs are given."""
    held = 0.0
    true = sum(share * rate for share, rate in zip((passed / n, 1 - passed / n), good, strict=True))
    for found in product(*(range(k + 1) for k in labelled)):
        probability = math.prod(binom.pmf(k, of, rate) for k, of, rate in zip(found, labelled, good, strict=True))
        strata = [(size, k, of - k) for size, k, of in zip((passed, n - passed), found, labelled, strict=True)]
        ends = stratified_rate(*outputs(*strata), level=level).interval
        held += probability * (ends.low <= true <= ends.high)
    return held


@pytest.mark.parametrize(
    ("passed", "labelled"),
    [(60, (5, 5)), (85, (2, 10)), (85, (10, 2)), (30, (1, 12)), (50, (12, 8))],
)
@pytest.mark.parametrize("good", [(0.9, 0.1), (0.99, 0.2), (0.7, 0.5), (0.95, 0.01)])
def test_the_interval_holds_the_rate_however_the_labels_are_spread_over_the_verdicts(passed, labelled, good):
    assert coverage(passed, 100, labelled, good) >= 0.93


def test_an_unlabelled_verdict_counts_with_its_full_range():
    found = stratified_rate(*outputs((700, 0, 0), (300, 20, 60)))
    assert found.value is None
    assert found.interval.low < 0.3 * 0.25
    assert found.interval.high > 0.7 + 0.3 * 0.25
    assert found.interval.method == "stratified, Clopper-Pearson"


def test_with_every_output_labelled_it_is_the_share_of_good_ones():
    found = stratified_rate(*outputs((60, 50, 10), (40, 10, 30)))
    assert found.value == pytest.approx(0.6)
    assert 0.49 < found.interval.low < 0.51
    assert 0.69 < found.interval.high < 0.71


def test_copies_of_one_case_narrow_nothing():
    judged, labels = outputs((60, 18, 2), (40, 4, 16))
    once = stratified_rate(judged, labels, range(100))
    thrice = stratified_rate(judged * 3, labels * 3, [*range(100)] * 3)
    assert thrice.value == pytest.approx(once.value)
    assert thrice.interval.low == pytest.approx(once.interval.low, abs=0.01)
    assert thrice.interval.high == pytest.approx(once.interval.high, abs=0.01)


def test_independent_labels_of_one_case_count_nearly_in_full():
    draw = random.Random(1)  # noqa: S311  no secret
    labels = [float(draw.random() < 0.6) for _ in range(150)]
    alone = stratified_rate([True] * 150, labels).interval
    found = stratified_rate([True] * 150, labels, [n // 3 for n in range(150)]).interval
    assert 1 <= (found.high - found.low) / (alone.high - alone.low) < 1.25  # copies: 1.73


def test_verdicts_whose_labels_are_all_alike_reach_as_far_as_clopper_and_pearson():
    found = stratified_rate(*outputs((60, 20, 0), (40, 0, 10))).interval
    sample = 1.96 * math.sqrt(0.6 * 0.4 / 99)
    low, high = beta.ppf(0.025, 20, 1), beta.ppf(0.975, 1, 10)
    assert found.high == pytest.approx(0.6 + math.hypot(0.4 * high, sample), abs=1e-4)
    assert found.low == pytest.approx(0.6 - math.hypot(0.6 * (1 - low), sample), abs=1e-4)


def test_the_order_of_outputs_does_not_matter():
    rows = list(zip(*outputs((60, 18, 2), (40, 4, 16)), strict=True))
    shuffled = random.Random(1).sample(rows, len(rows))  # noqa: S311  no secret
    assert stratified_rate(*zip(*rows, strict=True)) == stratified_rate(*zip(*shuffled, strict=True))


def test_few_labels_and_impossible_ones_are_refused():
    found = stratified_rate(*outputs((60, 5, 1), (40, 1, 1)))
    assert (found.value, found.interval.method) == (None, "none: 8 labelled cases; at least 10 are needed")
    with pytest.raises(ValueError, match="from 0 to 1"):
        stratified_rate([True] * 12, [2.0] * 12)
    with pytest.raises(ValueError, match="12 outputs but 11 labels"):
        stratified_rate([True] * 12, [1.0] * 11)


def test_the_choice_is_tested_as_fisher_does():
    source = random.Random(1)  # noqa: S311  no secret
    for _ in range(200):
        n = source.randint(2, 60)
        judged = [source.random() < source.choice((0.1, 0.5, 0.9)) for _ in range(n)]
        labelled = [source.random() < 0.4 for _ in range(n)]
        found = labelled_at_random(judged, labelled)
        table = [
            [sum((j, known) == pair for j, known in zip(judged, labelled, strict=True)) for pair in pairs]
            for pairs in (((True, True), (True, False)), ((False, True), (False, False)))
        ]
        if found is None:
            assert 0 in (sum(judged), n - sum(judged), sum(labelled), n - sum(labelled))
        else:
            assert found == pytest.approx(fisher_exact(table)[1], abs=1e-9)


def test_repeats_of_a_case_count_as_one_when_the_choice_is_tested():
    judged, labelled = [True] * 6 + [False] * 6, [True] * 6 + [False] * 6
    alone = labelled_at_random(judged, labelled)
    together = labelled_at_random(judged, labelled, [n // 3 for n in range(12)])
    assert alone < 0.01 < together
    sums = [0.25, 0.25, -0.25, -0.25]  # of each case: 3 labels · 1/6 · (verdict - 1/2)
    error = math.sqrt(4 / 3 * sum(one * one for one in sums))
    assert together == pytest.approx(2 * t.sf(abs(0.5 + 0.5) / error, 3))


def test_random_labels_are_rarely_called_chosen():
    source, called = random.Random(2), 0  # noqa: S311  no secret
    for _ in range(500):
        judged = [source.random() < 0.8 for _ in range(200)]
        labelled = set(source.sample(range(200), 40))
        called += labelled_at_random(judged, [n in labelled for n in range(200)]) < 0.02
    assert called <= 18  # 10 are expected at most; more than 18 have a probability of 0.5 %
