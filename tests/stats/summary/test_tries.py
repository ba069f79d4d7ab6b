"""pass@k and pass^k of a run whose cases were asked several times, and how reports say them."""

# ruff: noqa: RUF001  the dash that reports print

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import DatasetInfo
from evalmark.core.values.score import Trial
from evalmark.reports.text.judges import repeat_lines
from evalmark.stats.summary.summarise import summarise


def group(cases, repeat):
    """The only group of a run; each case is a word with a letter a try: pass, fail, error."""
    results = [
        Result(
            trial=Trial(case=Case(id=str(position), input=""), dataset="d", position=position, repeat=number),
            output=Output(value="", error="boom" if letter == "e" else None),
            scores=() if letter == "e" else (Score(name="m", raw=letter == "p", value=1.0, passed=letter == "p"),),
        )
        for position, letters in enumerate(cases)
        for number, letter in enumerate(letters)
    ]
    (found,) = summarise(Run(id="r", name="", created="", repeat=repeat, results=results)).groups
    return found


def test_any_of_k_and_all_of_k_are_over_cases_with_as_many_judged_tries():
    found = group(["ppp", "pff", "fff", "pee"], 3).repeats
    assert (found.once.value, found.once.n) == (pytest.approx((1 + 1 / 3 + 0 + 1) / 4), 4)
    assert (found.any_of.k, found.any_of.n, found.any_of.left_out) == (3, 3, 1)
    assert (found.any_of.value, found.all_of.value) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert found.any_of.interval.low < 2 / 3 < found.any_of.interval.high


@pytest.mark.parametrize(
    ("cases", "repeat", "said"),
    [
        pytest.param(["p", "f"], 1, [], id="asked once"),
        pytest.param(["ee"], 2, [], id="nothing was judged"),
        pytest.param(
            ["pf", "pp", "ee"],
            2,
            [
                ("pass@1", "75 % (25.1 – 96.2 %) over 2 cases, 1 without a judged trial left out"),
                ("pass@2", "100 % (34.2 – 100.0 %) over 2 cases, 1 with fewer than 2 judged trials left out"),
                ("pass^2", "50 % (9.5 – 90.5 %) over 2 cases, 1 with fewer than 2 judged trials left out"),
            ],
            id="a case that broke",
        ),
        pytest.param(
            ["pe", "fe"],
            2,
            [
                ("pass@1", "50 % (9.5 – 90.5 %) over 2 cases"),
                ("pass@2", "– (no case has 2 judged trials)"),
                ("pass^2", "– (no case has 2 judged trials)"),
            ],
            id="one judged trial each",
        ),
    ],
)
def test_what_is_said_of_repeats(cases, repeat, said):
    assert repeat_lines(group(cases, repeat)) == said


def test_pass_at_1_of_equal_numbers_of_tries_has_the_interval_of_the_pass_rate_with_clusters():
    results = [
        Result(
            trial=Trial(
                case=Case(id=str(n), input=str(n), metadata={"document": n // 5}),
                dataset="d",
                position=n,
                repeat=number,
            ),
            output=Output(value=""),
            scores=(Score(name="m", raw=passed, value=float(passed), passed=passed),),
        )
        for n in range(40)
        for number in range(3)
        for passed in [(n // 5) % 3 > 0 and (n + number) % 4 > 0]
    ]
    run = Run(
        id="r", name="", created="", repeat=3, datasets=(DatasetInfo(name="d", cluster="document"),), results=results
    )
    (found,) = summarise(run).groups
    rate = found.tally.pass_rate
    assert rate.interval.method == found.repeats.once.interval.method == "Jeffreys, clustered by document"
    assert found.repeats.once.value == pytest.approx(rate.value)
    assert found.repeats.once.interval.ends == pytest.approx(rate.interval.ends, abs=1e-9)
    assert found.repeats.all_of.interval.method.endswith("clustered by document")
