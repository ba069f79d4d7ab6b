"""Which cases changed between two runs, and whether that can be luck."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from evalmark.inference import sign_test
from evalmark.stats import changes
from evalmark.values import Case, Output, Result, Run, Score, Trial


def run(**cases):
    """A run of one dataset: for each case, how its repeats ended (`+`, `-`, `?`, `!`)."""
    results = [
        Result(
            trial=Trial(case=Case(id=name), dataset="d", repeat=repeat),
            output=Output(error="broken" if ending == "!" else None),
            scores=(SCORES[ending],),
        )
        for name, endings in cases.items()
        for repeat, ending in enumerate(endings)
    ]
    return Run(id="r", name="r", created="", results=results)


SCORES = {
    "+": Score(name="s", value=1.0, passed=True),
    "-": Score(name="s", value=0.0, passed=False),
    "?": Score(name="s", status="unscored"),
    "!": Score(name="s", status="skipped"),
}


@pytest.mark.parametrize(
    ("now", "before", "worse", "better", "same", "alone", "outcome"),
    [
        pytest.param({"a": "+"}, {"a": "+"}, (), (), 1, 0, "same", id="nothing changed"),
        pytest.param({"a": "-"}, {"a": "+"}, ("a",), (), 0, 0, "cannot tell", id="one case may be luck"),
        pytest.param(
            {"a": "+", "b": "-"}, {"a": "-", "b": "+"}, ("b",), ("a",), 0, 0, "cannot tell", id="one each way"
        ),
        pytest.param({"a": "++-"}, {"a": "+++"}, ("a",), (), 0, 0, "cannot tell", id="fewer repeats pass"),
        pytest.param({"a": "+-"}, {"a": "-+"}, (), (), 1, 0, "same", id="the same share of repeats"),
        pytest.param({"a": "!"}, {"a": "+"}, (), (), 0, 1, "cannot tell", id="an error is no verdict"),
        pytest.param({"a": "?"}, {"a": "+"}, (), (), 0, 1, "cannot tell", id="nor is what nobody could judge"),
        pytest.param({"new": "+"}, {"gone": "+"}, (), (), 0, 2, "cannot tell", id="new and gone cases stand alone"),
        pytest.param(
            dict.fromkeys("abcdef", "-"),
            dict.fromkeys("abcdef", "+"),
            tuple("abcdef"),
            (),
            0,
            0,
            "worse",
            id="six at once",
        ),
        pytest.param(
            dict.fromkeys("abcdef", "+"), dict.fromkeys("abcdef", "-"), (), tuple("abcdef"), 0, 0, "better", id="six up"
        ),
    ],
)
def test_cases_are_paired_by_name(now, before, worse, better, same, alone, outcome):  # each is a column of the table
    found = changes(run(**now), run(**before))["d"]
    assert (found.worse, found.better, found.same, found.alone, found.outcome) == (worse, better, same, alone, outcome)


@given(st.integers(0, 400), st.integers(0, 400))
def test_the_sign_test_is_the_exact_binomial_test(down, up):
    found = sign_test(down, up)
    if down + up == 0:
        assert found is None
    else:
        assert found == pytest.approx(binomtest(down, down + up).pvalue, rel=1e-9)


def test_thousands_of_cases_are_no_trouble():
    assert sign_test(40_000, 41_000) == pytest.approx(binomtest(40_000, 81_000).pvalue, rel=1e-6)
