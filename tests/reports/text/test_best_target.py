"""Which of several targets is the best: decided by the tests of each pair, and said with what they leave open."""

from dataclasses import replace

import pytest

from evalmark.core.values.run import Metric
from evalmark.reports.text.best_target import best_target_text
from evalmark.stats.comparison.trade_offs import Candidate, trade_offs
from tests.stats.comparison.test_missing import ERROR, run

DETAILS = {"higher": "highest", "lower": "lowest"}


def of(direction="higher", **targets):
    """Describe the best target; each has what it gives for each case, with None for a case that it lacks."""
    candidates = []
    for name, values in targets.items():
        found = run([[] if value is None else [value] for value in values])
        results = [
            replace(one, scores=tuple(replace(score, direction=direction) for score in one.scores))
            for one in found.results
        ]
        metrics = (Metric(name="right", direction=direction),)
        candidates.append(
            Candidate(name=name, run=replace(found, id=name, metrics=metrics, results=results), prices=lambda keys: {})
        )
    return best_target_text(trade_offs(candidates))


def passing(n, total=40):
    return [place < n for place in range(total)]


@pytest.mark.parametrize(
    ("targets", "outcome", "words"),
    [
        pytest.param(
            {"a": passing(38), "b": passing(20)},
            "better",
            [
                "a is best",
                "It has the highest pass rate, 95 %: +45.0 points (",
                "on 40 cases against the next, b (50 %).",
            ],
            id="one is better",
        ),
        pytest.param(
            {"a": passing(20), "b": passing(38), "c": passing(5), "d": passing(6)},
            "better",
            [
                "b is best",
                "against the next, a (50 %); also better than 2 others.",
                "p adjusted over 6 pairs",
            ],
            id="one is better than each other one",
        ),
        pytest.param(
            {"a": passing(38), "b": passing(36), "c": passing(5)},
            "cannot tell",
            [
                "Cannot tell which target is best",
                "a has the highest pass rate, 95 %",
                "against the next, b (90 %)",
                "more cases would decide between the two; better than c.",
            ],
            id="two lead",
        ),
        pytest.param(
            {"a": passing(3, 4), "b": passing(1, 4)},
            "cannot tell",
            ["Cannot tell", "+50.0 points", "on 4 cases"],
            id="few cases",
        ),
        pytest.param(
            {"a": passing(900, 1000), "b": passing(895, 1000)},
            "same",
            ["No target is the only best", "the same within 5 points."],
            id="within the margin",
        ),
        pytest.param(
            {"a": passing(9, 10), "b": passing(9, 10)},
            "same",
            ["a and b have the highest pass rate, 90 %; all outputs and scores are identical on 10 cases."],
            id="identical",
        ),
        pytest.param(
            {"a": [*passing(30, 30), *[ERROR] * 10], "b": [*passing(22, 30), *[True] * 10]},
            "cannot tell",
            ["a has the highest pass rate, 100 %", "10 missing results could change the verdict."],
            id="errors that may be failures",
        ),
        pytest.param(
            {"a": [True] * 20 + [None] * 20, "b": [None] * 20 + [False] * 20},
            "cannot tell",
            ["a has the highest pass rate, 100 %, but has no case in common with the next, b (0 %)."],
            id="different cases",
        ),
        pytest.param(
            {"a": [True] * 20 + [None] * 20, "b": [None] * 20 + [True] * 20},
            "cannot tell",
            ["a and b have the highest pass rate, 100 %, but no case in common."],
            id="different cases, all passed",
        ),
        pytest.param(
            {"a": [*[False] * 20, *[None] * 80, *[True] * 20], "b": [*[True] * 18, *[False] * 84, *[None] * 18]},
            "better",
            ["b is best", "It has a pass rate of 17.6 %", "on 22 cases"],
            id="the best on common cases has a lower rate",
        ),
        pytest.param(
            {"a": passing(30), "b": passing(30), "c": [ERROR] * 40},
            "same",
            [
                "a and b have the highest pass rate, 75 %; all outputs and scores are identical on 40 cases",
                "c has no score",
            ],
            id="a target of errors only",
        ),
    ],
)
def test_the_best_target_is_the_one_that_is_better_than_each_other_one(targets, outcome, words):
    found = of(**targets)
    text = f"{found.headline}: {found.sentence} {found.note}"
    assert (found.outcome, [word for word in words if word not in text], text) == (outcome, [], text)


@pytest.mark.parametrize(
    ("direction", "best"), [pytest.param("higher", "b", id="higher"), pytest.param("lower", "a", id="lower")]
)
def test_without_verdicts_the_mean_decides_in_its_own_direction(direction, best):
    low, high = ([level + place / 1_000 for place in range(40)] for level in (0.2, 0.6))
    found = of(direction, a=low, b=high)
    assert found.headline == f"{best} is best"
    assert f"It has the {DETAILS[direction]} mean of right" in found.sentence
    assert ("\N{MINUS SIGN}0.4" in found.sentence) == (direction == "lower")


def test_pairs_are_tested_as_one_family():
    """Alone, the difference of six cases is found; among four such pairs it may be chance."""
    several = {"a": passing(40), "b": passing(34), **{name: passing(34) for name in "cde"}}
    assert of(a=passing(40), b=passing(34)).outcome == "better"
    found = of(**several)
    assert found.outcome == "cannot tell"
    assert "it may be chance, p = 0.062" in found.sentence
    assert "also not told apart from 3 others" in found.sentence


def test_nothing_is_said_of_targets_without_a_score():
    assert of(a=[ERROR] * 4, b=[ERROR] * 4) is None
    assert of(a=[ERROR] * 4, b=[True] * 4) is None


def test_long_names_are_shortened_to_what_tells_them_apart_and_many_are_counted():
    names = [
        f"prompts/support/{prompt}-v3.prompty on openai/brook-{size}" for prompt in ("terse", "kind") for size in "abc"
    ]
    found = of(**dict(zip(names, (passing(n) for n in (38, 37, 36, 5, 6, 7)), strict=True)))
    assert "terse-v3 brook-a has the highest pass rate" in found.sentence
    assert "against the next, terse-v3 brook-b (92.5 %)" in found.sentence
    assert found.sentence.endswith("also not told apart from terse-v3 brook-c; better than 3 others.")
