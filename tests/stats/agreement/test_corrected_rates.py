"""Pass rates behind those of a judge: published figures, numpy and ppi-python, and how often the intervals hold."""

# ruff: noqa: S311  seeded draws, not secrets

import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from evalmark.stats.agreement.corrected_rates import corrected_by_betting, prediction_powered, rogan_gladen
from evalmark.stats.inference.sequential import BettingSequence
from tests.stats.inference.draws import FEW_SEEDS, SEEDS

LABELS = [1, 0, 1, 1, 0, 1, 0, 1, 1, 1]
JUDGED = [1, 0, 1, 1, 1, 1, 0, 1, 0, 1]
OTHERS = [1] * 22 + [0] * 8


def drawn(seed):
    draw = random.Random(seed)
    n, m = draw.choice([0, 1, 2, 9, 10, draw.randint(11, 60)]), draw.choice([0, 1, 2, draw.randint(3, 120)])
    right, graded = draw.choice([0.5, 0.8, 1.0]), draw.random() < 0.5
    kind = draw.choice(["mixed", "mixed", "all equal"])

    def value():
        return 1.0 if kind == "all equal" else draw.random() if graded else float(draw.random() < 0.7)

    labels = [value() for _ in range(n)]
    return labels, [y if draw.random() < right else value() for y in labels], [value() for _ in range(m)]


def by_the_formula(labels, judged, others, power, level=0.95):
    """Straight from the papers, with numpy: estimate, low, high, weight."""
    y, x, u = (np.array(values, dtype=float) for values in (labels, judged, others))
    n, m = len(y), len(u)
    if power is None:
        pooled = np.var(np.concatenate([x, u]), ddof=1)
        power = (
            float(np.clip(np.cov(y, x, ddof=0)[0, 1] / ((1 + n / m) * pooled), 0, 1)) if m and pooled > 1e-20 else 0.0
        )
    power = power if m else 0.0
    value = power * (u.mean() if m else 0) + (y - power * x).mean()
    half = norm.ppf((1 + level) / 2) * np.sqrt((power**2 * u.var() / m if m else 0) + (y - power * x).var() / n)
    return value, value - half, value + half, power


@pytest.mark.parametrize(
    ("power", "weight", "value", "low", "high"),
    [
        pytest.param(0.0, 0.0, 0.7, 0.4159742349, 0.9840257651, id="labels alone"),
        pytest.param(1.0, 1.0, 0.7333333333, 0.4141628509, 1.0525038158, id="PPI"),
        pytest.param(None, 0.4034482759, 0.7134482759, 0.4608991683, 0.9659973834, id="PPI++"),
    ],
)
def test_the_figures_of_prediction_powered_inference(power, weight, value, low, high):
    found = prediction_powered(LABELS, JUDGED, OTHERS, power=power, bounded=False)
    assert found.power == pytest.approx(weight, abs=5e-11)
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((value, low, high), abs=5e-11)
    cut = prediction_powered(LABELS, JUDGED, OTHERS, power=power)
    assert cut.interval.high == pytest.approx(min(1.0, high), abs=5e-11)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("power", [None, 0.0, 0.6, 1.0])
def test_prediction_powered_is_what_the_papers_say(seeds, power):
    for seed in seeds:
        labels, judged, others = drawn(seed)
        found = prediction_powered(labels, judged, others, power=power, bounded=False)
        if len(labels) < 10:
            assert found.interval.method == f"none: {len(labels)} labels; at least 10 are needed, and 100 are better", (
                seed
            )
            continue
        value, low, high, weight = by_the_formula(labels, judged, others, power)
        if found.value is None:
            spread = np.var(np.array(labels) - weight * np.array(judged))
            assert (found.interval.method.startswith("none: "), spread < 1e-20) == (True, True), seed
            continue
        assert found.power == pytest.approx(weight, abs=1e-12), seed
        assert (found.value, found.interval.low, found.interval.high) == pytest.approx((value, low, high), abs=1e-10), (
            seed
        )


@pytest.mark.parametrize("seeds", FEW_SEEDS)
def test_prediction_powered_is_that_of_ppi_python(seeds):
    ppi_py = pytest.importorskip("ppi_py", reason="ppi-python is not installed: `make integration`")
    for seed in seeds:
        labels, judged, others = drawn(seed)
        if len(labels) < 10 or len(others) < 2 or len({*judged, *others}) < 2:
            continue
        for power in (None, 0.0, 1.0):
            found = prediction_powered(labels, judged, others, power=power, bounded=False)
            if found.value is None:
                continue
            arrays = [np.array(values) for values in (labels, judged, others)]
            low, high = ppi_py.ppi_mean_ci(*arrays, alpha=0.05, lam=power)
            value = ppi_py.ppi_mean_pointestimate(*arrays, lam=power)
            ends = float(np.ravel(value)[0]), float(np.ravel(low)[0]), float(np.ravel(high)[0])
            assert (found.value, found.interval.low, found.interval.high) == pytest.approx(ends, abs=1e-9), (
                seed,
                power,
            )


@pytest.mark.parametrize(
    ("labels", "judged", "others", "method"),
    [
        pytest.param([], [], [], "none: 0 labels; at least 10 are needed, and 100 are better", id="nothing"),
        pytest.param([1], [1], [1] * 9, "none: 1 labels; at least 10 are needed, and 100 are better", id="one label"),
        pytest.param([1] * 20, [1] * 20, [1] * 50, "none: 20 labels without any spread", id="all equal"),
        pytest.param(LABELS, JUDGED, [], "labels alone", id="nothing that only the judge has seen"),
        pytest.param(LABELS, [1] * 10, [1] * 50, "labels alone", id="a judge that always says the same"),
    ],
)
def test_where_the_judge_is_of_no_help(labels, judged, others, method):
    found = prediction_powered(labels, judged, others)
    assert found.interval.method.startswith(method)
    assert (found.value is None) is method.startswith("none")
    assert found.power == 0


def test_a_short_interval_comes_with_a_caution():
    assert prediction_powered(LABELS, JUDGED, OTHERS).caution.startswith("10 independent labels are few")
    wrong = prediction_powered([1, 0] * 60, [1, 1] + [1, 0] * 59, [1, 0] * 300)
    assert wrong.caution == "judge and labels differ on 1 outputs only, so that the interval may be too short"
    assert prediction_powered([1, 0] * 60, [1, 1, 0, 0] * 30, [1, 0] * 300).caution == ""


@pytest.mark.parametrize(
    ("labels", "judged", "others", "said"),
    [
        pytest.param([1], [], [], "1 labels but 0 verdicts", id="lengths"),
        pytest.param([float("nan")], [1], [], "finite", id="nan"),
        pytest.param([1], [1], [5], "from 0 to 1", id="another scale"),
    ],
)
def test_what_cannot_be_used_is_refused(labels, judged, others, said):
    with pytest.raises(ValueError, match=said):
        prediction_powered(labels, judged, others)


@pytest.mark.parametrize(
    ("passed", "n", "good", "bad", "value", "low", "high"),
    [
        pytest.param(400, 1000, (180, 200), (140, 200), 0.1666666667, 0.0563507248, 0.2627330258, id="a mild judge"),
        pytest.param(160, 200, (45, 50), (42.5, 50), 0.8666666667, 0.7538841961, 1.0, id="cut at 1"),
    ],
)
def test_the_figures_of_lee_and_others(passed, n, good, bad, value, low, high):
    found = rogan_gladen(passed, n, good, bad)
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((value, low, high), abs=5e-11)


@pytest.mark.parametrize("seeds", SEEDS)
def test_the_corrected_rate_is_what_the_paper_says(seeds):
    for seed in seeds:
        draw = random.Random(seed)
        n, m1, m0 = (draw.choice([0, 1, 2, 10, draw.randint(11, 400)]) for _ in range(3))
        passed, right1, right0 = (draw.choice([0, k, draw.randint(k // 2, k)]) for k in (n, m1, m0))
        found = rogan_gladen(passed, n, (right1, m1), (right0, m0))
        if n == 0 or min(m0, m1) < 10 or Fraction(right1, m1) + Fraction(right0, m0) <= 1:
            assert (found.value, found.interval.method[:6]) == (None, "none: "), seed
            continue
        z = norm.ppf(0.975)
        p, q1, q0 = (passed + z * z / 2) / (n + z * z), (right1 + 1) / (m1 + 2), (right0 + 1) / (m0 + 2)
        v0, v1, sure = q0 * (1 - q0) / (m0 + 2), q1 * (1 - q1) / (m1 + 2), q0 + q1 - 1
        if sure <= z * (v0 + v1) ** 0.5:
            assert found.interval.method.startswith("none: the labels cannot tell the judge from luck"), seed
            continue
        theta = min(1, max(0, (p + q0 - 1) / sure))
        middle = theta + 2 * z * z * (-(1 - theta) * v0 + theta * v1)
        half = z * (p * (1 - p) / (n + z * z) + (1 - theta) ** 2 * v0 + theta**2 * v1) ** 0.5 / sure
        sharp = Fraction(right1, m1) + Fraction(right0, m0) - 1
        value = float(min(1, max(0, (Fraction(passed, n) + Fraction(right0, m0) - 1) / sharp)))
        ends = min(value, max(0, middle - half)), max(value, min(1, middle + half))
        assert (found.value, found.interval.low, found.interval.high) == pytest.approx((value, *ends), abs=1e-9), seed


@pytest.mark.parametrize(
    ("good", "bad", "method"),
    [
        pytest.param(
            (9, 9), (40, 50), "none: 9 outputs are labelled good; at least 10 are needed", id="few good labels"
        ),
        pytest.param((40, 50), (0, 0), "none: 0 outputs are labelled bad; at least 10 are needed", id="no bad label"),
        pytest.param((25, 50), (25, 50), "none: the judge is no better than luck", id="a coin"),
        pytest.param((10, 50), (20, 50), "none: the judge is no better than luck", id="worse than a coin"),
        pytest.param((7, 12), (7, 12), "none: the labels cannot tell the judge from luck", id="perhaps a coin"),
    ],
)
def test_a_judge_that_tells_nothing_is_refused(good, bad, method):
    found = rogan_gladen(160, 200, good, bad)
    assert (found.value, found.interval.low) == (None, None)
    assert found.interval.method.startswith(method)


def test_counts_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="good must be from 0 to n, got 60 of 50"):
        rogan_gladen(160, 200, (60, 50), (40, 50))


@pytest.mark.parametrize("seeds", FEW_SEEDS)
def test_the_bets_are_on_what_is_apart_and_on_the_others(seeds):
    for seed in seeds:
        labels, judged, others = drawn(seed)
        found = corrected_by_betting(labels, judged, others)
        if not labels:
            assert found.interval.method == "none: nothing is labelled", seed
            continue
        n, m = len(labels), len(others) or 1
        apart, far = BettingSequence(0.975, (-1, 1), planned=n), BettingSequence(0.975, planned=m)
        alone = BettingSequence(planned=n)
        shuffled = random.Random(0).sample(list(zip(labels, judged, strict=True)), len(labels))
        for y, x in shuffled:
            apart.add(y - x)
            alone.add(y)
        for x in random.Random(0).sample(others, len(others)):
            far.add(x)
        low, high = (apart.low + far.low, apart.high + far.high) if others else (alone.low, alone.high)
        value = min(1.0, max(0.0, by_the_formula(labels, judged, others, 1.0)[0]))
        ends = min(value, max(0.0, low)), max(value, min(1.0, high))
        assert (found.value, found.interval.low, found.interval.high) == pytest.approx((value, *ends), abs=1e-9), seed


def judged_draw(draw, rate, labels, others):
    """What people and a judge say, who passes 90 % of good and fails 80 % of bad outputs: labels, verdicts, others."""
    truth = [float(draw.random() < rate) for _ in range(labels + others)]
    said = [float(draw.random() < (0.9 if good else 0.2)) for good in truth]
    return truth[:labels], said[:labels], said[labels:]


def from_confusion(truth, said, others):
    good = [s for t, s in zip(truth, said, strict=True) if t]
    bad = [s for t, s in zip(truth, said, strict=True) if not t]
    return rogan_gladen(
        int(sum(others)), len(others), (int(sum(good)), len(good)), (int(len(bad) - sum(bad)), len(bad))
    )


WAYS = {"PPI++": prediction_powered, "Rogan-Gladen": from_confusion, "betting": corrected_by_betting}


def judged_coverage(way, rate, labels, others, rounds):
    """How often the interval of one way holds the true rate, of the times that there is one; and how often there is."""
    draw, held, given = random.Random(f"{rate} {labels} {others}"), 0, 0
    for _ in range(rounds):
        found = WAYS[way](*judged_draw(draw, rate, labels, others)).interval
        if found.low is not None:
            given, held = given + 1, held + (found.low <= rate <= found.high)
    return held / max(given, 1), given / rounds


@pytest.mark.parametrize(("way", "rounds"), [("PPI++", 300), ("Rogan-Gladen", 300), ("betting", 30)])
def test_the_interval_holds_the_true_rate(way, rounds):
    held, given = judged_coverage(way, 0.7, 150, 300, rounds)
    assert (held > 0.91, given) == (True, 1.0)


@pytest.mark.sweep
@pytest.mark.parametrize("labels", [30, 60, 150, 400])
@pytest.mark.parametrize("rate", [0.5, 0.7, 0.9, 0.97])
@pytest.mark.parametrize(("way", "rounds"), [("PPI++", 2_000), ("Rogan-Gladen", 2_000), ("betting", 100)])
def test_how_often_the_interval_holds_the_true_rate(way, rounds, rate, labels, capsys):
    held, given = judged_coverage(way, rate, labels, 1_000, rounds)
    with capsys.disabled():
        print(f"\njudged  {way:12} rate={rate} labels={labels:<4} {held:.3f} given {given:.3f}")  # noqa: T201
    assert given < 0.1 or held > {"PPI++": 0.85, "Rogan-Gladen": 0.93, "betting": 0.95}[way]
