"""Agreement of judges: the published figures, statsmodels as second opinion, and what must hold of any judgements."""

# ruff: noqa: S311  seeded draws, not secrets

import random
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import t
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

from evalmark.stats.agreement.kappa_alpha import (
    alpha_with_interval,
    cohen_kappa,
    kappa_with_interval,
    krippendorff_alpha,
)

GAP = None
PAPER = (  # Krippendorff (2011), four observers, twelve units
    (1, 2, 3, 3, 2, 1, 4, 1, 2, GAP, GAP, GAP),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, GAP, 3),
    (GAP, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, GAP),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, GAP),
)
UNITS = [[x for x in column if x is not GAP] for column in zip(*PAPER, strict=True)]

words = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40)
units = st.lists(st.lists(st.integers(1, 5), min_size=0, max_size=4), min_size=1, max_size=20)


def expanded(table):
    """The two judgements of every output, from how often each pair of them occurred."""
    rows = [(i, j) for i, row in enumerate(table) for j, times in enumerate(row) for _ in range(times)]
    return [i for i, _ in rows], [j for _, j in rows]


def table_of(first, second, size):
    counts = [[0] * size for _ in range(size)]
    for a, b in zip(first, second, strict=True):
        counts[a][b] += 1
    return counts


@pytest.mark.parametrize(
    ("table", "weighted", "kappa"),
    [
        pytest.param([[20, 5], [10, 15]], False, 0.4, id="two words"),
        pytest.param([[80, 10], [10, 0]], False, -1 / 9, id="one word almost always: 80 % agreement shows nothing"),
        pytest.param([[20, 5, 1], [4, 15, 6], [1, 7, 21]], True, 0.7216423104, id="a scale, quadratic weights"),
        pytest.param([[9, 0], [1, 0]], False, 0.0, id="one judge has but one word"),
        pytest.param([[7, 0], [0, 0]], False, None, id="both have but one word, the same"),
        pytest.param([[0, 7], [0, 0]], False, 0.0, id="both have but one word, another each"),
        pytest.param([[0, 5], [5, 0]], False, -1.0, id="always the opposite"),
        pytest.param([[5, 0], [0, 5]], True, 1.0, id="always the same"),
        pytest.param([[1]], False, None, id="one output, the same word"),
        pytest.param([], False, None, id="nothing"),
    ],
)
def test_kappa_of_a_table(table, weighted, kappa):
    found = cohen_kappa(*expanded(table), weighted=weighted)
    assert found == (None if kappa is None else pytest.approx(kappa, abs=1e-10))


def test_the_interval_of_kappa_is_that_of_its_published_error():
    _, found = kappa_with_interval(*expanded([[20, 5], [10, 15]]))
    # Student's t with n - 1 in the place of the normal distribution with n.
    error = 0.1269960629 * (50 / 49) ** 0.5
    assert ((found.high - found.low) / 2 / error, found.method) == (pytest.approx(2.00957524, abs=1e-7), "Student's t")
    assert (found.low + found.high) / 2 == pytest.approx(0.4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(100))
def test_kappa_and_its_error_are_those_of_statsmodels(seed, weighted):
    draw = random.Random(seed)
    size, n = draw.randint(2, 5), draw.randint(10, 60)
    first = [draw.randrange(size) for _ in range(n)]
    second = [x if draw.random() < draw.random() else draw.randrange(size) for x in first]
    oracle = cohens_kappa(table_of(first, second, size), wt="quadratic" if weighted else None)
    assert cohen_kappa(first, second, weighted=weighted) == pytest.approx(oracle.kappa, abs=1e-12)
    _, found = kappa_with_interval(first, second, weighted=weighted)
    half = t.ppf(0.975, n - 1) * oracle.std_kappa * (n / (n - 1)) ** 0.5
    ends = max(-1.0, oracle.kappa - half), min(1.0, oracle.kappa + half)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-9)


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107)])
def test_alpha_of_the_paper(level, alpha):
    assert krippendorff_alpha(UNITS, level) == pytest.approx(alpha, abs=5e-7)


@pytest.mark.parametrize(
    ("units", "level", "alpha"),
    [
        pytest.param([[0, 1], [0, 1], [1, 0], [1, 0]], "nominal", Fraction(-3, 4), id="never the same"),
        pytest.param([[1, 2], [3, 4], [1, 1]], "interval", Fraction(19, 24), id="numbers"),
        pytest.param([[1, 1], [3, 4], [5, 5]], "ordinal", Fraction(94, 99), id="ranks"),
        pytest.param([[1, 1, 0], [0, 0]], "nominal", Fraction(1, 3), id="a gap"),
        pytest.param([[1, 1, 0], [0, 0], [1]], "nominal", Fraction(1, 3), id="a single judgement tells nothing"),
        pytest.param([[1, 1], [1, 1]], "nominal", None, id="one and the same word"),
        pytest.param([[0.1, 0.1, 0.1], [0.1, 0.1]], "interval", None, id="one and the same number, which rounding moves"),
        pytest.param([[1], [2]], "nominal", None, id="nothing said twice"),
        pytest.param([], "ordinal", None, id="nothing"),
        pytest.param([[1e200, 1e200], [-1e200, 1e200]], "interval", None, id="squares too large for a float"),
    ],
)  # fmt: skip
def test_alpha_exactly(units, level, alpha):
    found = krippendorff_alpha(units, level)
    assert found == (None if alpha is None else pytest.approx(float(alpha), abs=1e-12))


@pytest.mark.parametrize("seed", range(100))
def test_alpha_without_gaps_is_fleiss_kappa_of_statsmodels(seed):
    draw = random.Random(seed)
    judges, n, size = draw.randint(3, 5), draw.randint(3, 40), draw.randint(2, 4)
    rows = [[draw.randrange(size) for _ in range(judges)] for _ in range(n)]
    rows[0][:2] = [0, 1]  # more than one word
    fleiss = fleiss_kappa(aggregate_raters(rows)[0])
    said = n * judges
    assert krippendorff_alpha(rows) == pytest.approx(1 - (1 - fleiss) * (said - 1) / said, abs=1e-12)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@given(units=units)
def test_alpha_is_at_most_1_and_1_only_when_all_agree(level, units):
    found = krippendorff_alpha(units, level)
    told = [unit for unit in units if len(unit) > 1]
    assert found is None or found <= 1
    assert (found == 1) is (len({x for u in told for x in u}) > 1 and all(len(set(u)) == 1 for u in told))


@given(units, st.randoms(), st.dictionaries(st.integers(1, 5), st.floats(-9, 9), min_size=5, max_size=5))
def test_alpha_knows_no_order_of_units_or_judges_and_no_names(units, shuffle, names):
    moved = [shuffle.sample(unit, len(unit)) for unit in shuffle.sample(units, len(units))]
    for level in ("nominal", "ordinal", "interval"):
        assert krippendorff_alpha(moved, level) == pytest.approx(krippendorff_alpha(units, level), abs=1e-9)
    assume(len(set(names.values())) == 5)
    renamed = [[names[x] for x in unit] for unit in units]
    assert krippendorff_alpha(renamed) == pytest.approx(krippendorff_alpha(units), abs=1e-9)


def alpha_by_its_definition(units, level):
    """Observed over expected disagreement, pair by pair, as the paper defines it."""
    told = [unit for unit in units if len(unit) > 1]
    said = [x for unit in told for x in unit]
    counts = {x: said.count(x) for x in sorted(set(said))}

    def apart(a, b):
        between = sum(n for x, n in counts.items() if min(a, b) <= x <= max(a, b)) - (counts[a] + counts[b]) / 2
        return Fraction({"nominal": a != b, "ordinal": (a != b) * between, "interval": a - b}[level]) ** 2

    n = len(said)
    observed = sum((apart(a, b) / (len(u) - 1) for u in told for a, b in permutations(u, 2)), Fraction()) / max(n, 1)
    expected = sum((apart(a, b) for a, b in permutations(said, 2)), Fraction()) / max(n * (n - 1), 1)
    return float(1 - observed / expected) if expected else None


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@settings(max_examples=50)
@given(units=units)
def test_alpha_is_what_its_definition_says(level, units):
    assert krippendorff_alpha(units, level) == pytest.approx(alpha_by_its_definition(units, level), abs=1e-12)


@given(units)
def test_an_ordinal_scale_has_no_distances(units):
    stretched = [[x**3 for x in unit] for unit in units]
    assert krippendorff_alpha(stretched, "ordinal") == krippendorff_alpha(units, "ordinal")


@given(words, st.booleans())
def test_kappa_is_from_minus_1_to_1_and_knows_no_first_and_second(rows, weighted):
    first, second = zip(*rows, strict=True)
    found = cohen_kappa(first, second, weighted=weighted)
    assert found is None or -1 - 1e-12 <= found <= 1
    assert cohen_kappa(second, first, weighted=weighted) == pytest.approx(found, abs=1e-12)


@given(words)
def test_of_two_words_weighted_and_unweighted_are_the_same(rows):
    first, second = ([int(x > 1) for x in column] for column in zip(*rows, strict=True))
    assert cohen_kappa(first, second) == pytest.approx(cohen_kappa(first, second, weighted=True), abs=1e-12)


@given(words)
def test_outputs_met_twice_by_the_same_case_tell_nothing_new(rows):
    first, second = zip(*rows, strict=True)
    cases = list(range(len(rows)))
    _, once = kappa_with_interval(first, second, clusters=cases)
    _, twice = kappa_with_interval(first * 2, second * 2, clusters=cases * 2)
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high), abs=1e-9)


@pytest.mark.parametrize(
    ("rows", "method"),
    [
        pytest.param(UNITS[:9], "none: fewer than 10 cases", id="few"),
        pytest.param([[1, 1]] * 30, "none: there is nothing to tell agreement from", id="one word"),
        pytest.param([[0, 0], [1, 1]] * 15, "none: all values are equal", id="perfect agreement has no spread"),
        pytest.param(UNITS[:10] * 2, "Student's t", id="enough"),
    ],
)
def test_where_there_is_no_interval_it_says_why(rows, method):
    assert alpha_with_interval(rows)[1].method == method


@pytest.mark.sweep
@pytest.mark.parametrize("judges", [2, 3])
@pytest.mark.parametrize("level", ["nominal", "interval"])
@pytest.mark.parametrize(("n", "least"), [(10, 0.85), (20, 0.88), (50, 0.92), (200, 0.93)])
def test_how_often_the_interval_holds_the_agreement_of_many(judges, level, n, least, capsys):
    """Two or three judges, right in 85 of 100 cases, or up to a point apart on a scale from 1 to 5."""

    def drawn(draw, n):
        if level == "nominal":
            truths = [draw.random() < 0.7 for _ in range(n)]
            return [[int(t is (draw.random() < 0.85)) for _ in range(judges)] for t in truths]
        truths = [draw.gauss(3.4, 1) for _ in range(n)]
        return [[min(5, max(1, round(t + draw.gauss(0, 0.6)))) for _ in range(judges)] for t in truths]

    def estimate(units):
        if judges > 2:
            return alpha_with_interval(units, level)
        first, second = zip(*units, strict=True)
        return kappa_with_interval(first, second, weighted=level != "nominal")

    truth, _ = estimate(drawn(random.Random(0), 100_000))
    found = [estimate(drawn(random.Random(seed), n))[1] for seed in range(1_000)]
    known = [interval for interval in found if interval.low is not None]
    held = sum(interval.low <= truth <= interval.high for interval in known) / len(known)
    with capsys.disabled():
        print(f"\nagreement  {level:10} {judges} judges n={n:<4} {held:.3f}")  # noqa: T201  the table of docs/explanation/statistics.md
    assert held >= least
