"""Judged metrics in words: units, choices, judges compared, and what they cost."""

# ruff: noqa: RUF001  the dash of our intervals

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Score
from evalmark.core.money import money, spent_lines
from evalmark.core.values.run import Metric
from evalmark.core.values.spending import Spending
from evalmark.reports.text.judges import agreement_lines, metric_remarks
from evalmark.reports.text.numbers import mean_interval, mean_text, mean_unit, scale_mean, scale_value
from evalmark.reports.text.verdicts import score_text
from evalmark.stats.summary.metric_summary import scale_ends
from evalmark.stats.summary.summarise import summarise
from tests.reports.text import judged
from tests.reports.text.judged import EMPTY, scored


def of(raws, unit="", **fields):
    """The figures of one metric with these raw scores; each is its own place on the scale of the unit."""
    low, high = scale_ends(unit) or (0, 1)
    rows = [
        [Score(name="m", raw=raw, value=None if isinstance(raw, str) else (raw - low) / (high - low))] for raw in raws
    ]
    (found,) = summarise(scored(rows, (Metric(name="m", unit=unit, **fields),))).metrics
    return found


@pytest.mark.parametrize(
    ("raws", "unit", "shown"),
    [
        pytest.param([3, 4, 4, 4], "1..5", ("3.75 of 1..5", "(0.69)", "2.08 – 4.53"), id="a scale"),
        pytest.param([5, 5], "1..5", ("5.00 of 1..5", "(1.00)", "2.37 – 5.00"), id="the end of a scale"),
        pytest.param([5] * 999 + [4], "1..5", ("4.99 of 1..5", "(0.99)", "4.98 – 4.99"), id="almost the end of a scale"),
        pytest.param([80, 90], "%", ("85 of 100", "(0.85)", "13.4 – 97.8"), id="percent"),
        pytest.param([0, 0], "%", ("0 of 100", "(0.00)", "0 – 65.8"), id="percent, all nothing"),
        pytest.param([True, True, False], "", ("66.7 %", "", "20.8 – 93.9 %"), id="truth values"),
        pytest.param([True, True], "boolean", ("100 %", "", "34.2 – 100.0 %"), id="all true"),
        pytest.param([0.25, 0.75], "", ("0.500", "", "0.068 – 0.932"), id="values"),
        pytest.param(["A", "B"], "choice", ("–", "", "–"), id="names alone"),
    ],
)  # fmt: skip
def test_a_mean_is_shown_in_the_unit_of_its_metric(raws, unit, shown):
    found = of(raws, unit)
    assert (mean_text(found), mean_unit(found), mean_interval(found)) == shown


@given(st.floats(0, 1), st.sampled_from(["1..5", "0..10", "1..7", "%", "-1..1"]))
def test_a_mean_is_at_the_end_of_its_scale_only_when_it_is(share, unit):
    low, high = scale_ends(unit)
    number = low + share * (high - low)
    said = float(scale_mean(number, unit))
    assert (said == high) is (number == high)
    assert (said == low) is (number == low)
    assert abs(said - number) <= 0.11


@pytest.mark.parametrize(
    ("score", "threshold", "said"),
    [
        pytest.param(Score(name="m", raw=4, value=0.75, passed=True), 0.5, "4 of 1..5 (0.75) ≥ 0.5", id="a scale"),
        pytest.param(Score(name="m", raw=2.5, value=0.375, passed=False), 0.5, "2.50 of 1..5 (0.38) < 0.5", id="between two steps"),
        pytest.param(Score(name="m", raw="D", value=0.0, passed=False), 0.5, "D (0.00) < 0.5", id="a choice"),
        pytest.param(Score(name="m", raw=False, value=0.0, passed=False), 0.5, "no", id="a truth value"),
        pytest.param(Score(name="m", raw=True, value=2 / 3, passed=True), 0.5, "yes (0.67) ≥ 0.5", id="most of several truth values"),
        pytest.param(Score(name="m", raw=0.4, value=0.4, passed=False), 0.5, "0.400 < 0.5", id="a value"),
        pytest.param(Score(name="m", raw=4, value=0.4), None, "0.400", id="a number that is not on the scale"),
        pytest.param(Score(name="m", raw=10**400, value=0.4), None, "0.400", id="a number beyond all scales"),
        pytest.param(Score(name="m", raw="E"), None, "E", id="a choice without worth"),
        pytest.param(Score(name="m", status="unscored", raw="E"), None, "unscored", id="unscored"),
    ],
)  # fmt: skip
def test_one_score_in_the_unit_of_its_metric(score, threshold, said):
    assert score_text(score, {"m": Metric(name="m", unit="1..5", threshold=threshold)}) == said


def test_a_verdict_of_a_scale_is_whole_where_it_is():
    assert [scale_value(5, "1..5"), scale_value(4.999, "1..5"), scale_value(100, "%")] == [
        "5 of 1..5",
        "4.99 of 1..5",
        "100 of 100",
    ]


def two_judges(pairs, unit="1..5", judges=("a/x", "b/y")):
    low, high = scale_ends(unit) or (0, 1)
    metrics = tuple(Metric(name=f"m [{judge}]", unit=unit, judge=judge, base="m") for judge in judges)
    rows = [
        [
            Score(name=m.name, raw=raw, value=(raw - low) / (high - low))
            for m, raw in zip(metrics, row, strict=True)
            if raw is not None
        ]
        for row in pairs
    ]
    (found,) = summarise(scored(rows, metrics)).agreements
    return list(agreement_lines(found))


@pytest.mark.parametrize(
    ("pairs", "unit", "lines"),
    [
        pytest.param(
            [(4, 4), (2, 3), (5, 5)], "1..5",
            ["mean of 2 judges over 3 outputs: 0.71 (0.19 – 0.96)", "a/x and b/y: the same on 2 of 3 outputs, 66.7 % (20.8 – 93.9 %) · weighted kappa 0.86 · b/y minus a/x on average +0.33 (−1.10 to 1.77)"],
            id="few outputs, and no interval for kappa",
        ),
        pytest.param(
            [(True, True)] * 17 + [(True, False), (False, True)], "",
            [
                "mean of 2 judges over 19 outputs: 0.95 (0.77 – 0.99)",
                "a/x and b/y: the same on 17 of 19 outputs, 89.5 % (68.6 – 97.1 %) · kappa −0.06 (−0.14 to 0.03) · b/y minus a/x on average +0.00 (−0.16 to 0.16)",
                "94.7 % of all verdicts are true: with one verdict this common, kappa is low even when judges agree often",
            ],
            id="nearly always the same verdict",
        ),
        pytest.param(
            [(True, True), (True, True)], "",
            ["mean of 2 judges over 2 outputs: 1.00 (0.34 – 1.00)", "a/x and b/y: the same on 2 of 2 outputs, 100 % (34.2 – 100.0 %) · kappa is undefined: all verdicts are the same · b/y minus a/x on average +0.00"],
            id="one and the same verdict",
        ),
        pytest.param([(1, None), (None, 2)], "1..5", ["a/x and b/y scored no output in common"], id="no output in common"),
    ],
)  # fmt: skip
def test_two_judges_compared(pairs, unit, lines):
    assert two_judges(pairs, unit) == lines


def test_three_judges_compared():
    rows = [(4, 4, 5), (2, 3, 2), (5, 5, 5), (1, 1, None)]
    lines = two_judges(rows, judges=("a/x", "b/y", "c/z"))
    assert lines.pop(0).startswith("mean of 3 judges over 4 outputs: 0.54")
    assert lines[0] == "3 judges on 4 outputs: alpha 0.90"
    assert [line.split(":")[0] for line in lines[1:]] == ["a/x and b/y", "a/x and c/z", "b/y and c/z"]
    assert two_judges([(5, 5, 5)] * 3, judges=("a", "b", "c"))[1] == "3 judges on 3 outputs: alpha is undefined: all verdicts are the same"  # fmt: skip


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ({"flipped": True}, ["judged again, the verdict changed on 1 of 1 output, 100 % (20.7 – 100.0 %)"]),
        ({"order_consistent": True}, ["the order of the answers decided 0 of 1 comparison, 0 % (0.0 – 79.3 %)"]),
        ({"weighting": "logprobs"}, []),
        ({"weighting": "plain: none given"}, ["0 of 1 score weighted by token probabilities; 1 plain: none given"]),
        ({"unscored": "judge_parse"}, []),
    ],
    ids=["flipped", "order", "all weighted", "none weighted", "a kind of unscored on what is scored"],
)
def test_what_is_said_of_a_judge(detail, said):
    (found,) = summarise(scored([[Score(name="m", raw=0.5, value=0.5, detail=detail)]])).metrics
    assert list(metric_remarks(found)) == said


def test_unscored_verdicts_are_named_by_their_kind():
    kinds = ["judge_parse", "judge_refused", "judge_parse", "judge_abstained", "judge_new"]
    rows = [[Score(name="m", status="unscored", detail={"unscored": kind})] for kind in kinds]
    (found,) = summarise(scored(rows)).metrics
    assert list(metric_remarks(found)) == [
        "unscored verdicts: 2 not readable, 1 refused, 1 could not tell, 1 judge_new"
    ]


@pytest.mark.parametrize(
    ("dollars", "said"),
    [(0, "$0"), (0.0042, "$0.0042"), (12.3, "$12.30"), (0.5, "$0.50"), (0.999, "$1.00"), (0.994, "$0.99"), (1234567.891, "$1,234,567.89"),
     (0.000000123, "$0.00000012"), (0.0999, "$0.10"), (0.09999, "$0.10"), (0.012345, "$0.012")],
)  # fmt: skip
def test_money(dollars, said):
    assert money(dollars) == said


@given(st.floats(1e-12, 1e9))
def test_money_is_never_nothing_and_never_far_off(dollars):
    said = float(money(dollars).replace("$", "").replace(",", ""))
    assert said == pytest.approx(dollars, rel=0.06, abs=0.0051 if dollars >= 0.1 else 0)


@pytest.mark.parametrize(
    ("spent", "said"),
    [
        pytest.param(Spending(model="m", calls=2, input_tokens=10, output_tokens=3, cost=0.25), "2 calls · 10 tokens in, 3 out · $0.25", id="all known"),
        pytest.param(Spending(model="m", calls=1, unknown_usage=1, unknown_cost=1), "1 call · tokens unknown · price unknown for 1 call", id="nothing known is never 0"),
        pytest.param(Spending(model="m", calls=3, unknown_usage=1, input_tokens=5, cost=2.0, unknown_cost=1), "3 calls · 5 tokens in, 0 out (1 call without a count) · $2.00, price unknown for 1 call", id="partly known"),
        pytest.param(Spending(model="m", calls=1, input_tokens=1, output_tokens=1), "1 call · 1 tokens in, 1 out · price unknown", id="no price, and nobody counted"),
        pytest.param(Spending(model="m", calls=1, input_tokens=1, output_tokens=1, cost=0.0), "1 call · 1 tokens in, 1 out · $0", id="free"),
        pytest.param(Spending(model="m", replayed=7), "7 cached · $0", id="all cached"),
        pytest.param(Spending(model="m", failed=2, attempts=6), "0 calls, 2 failed, 6 retries · price unknown", id="all failed"),
        pytest.param(Spending(model="m", replayed=7, failed=1, attempts=1), "7 cached, 1 failed, 1 retry · price unknown", id="what failed may have been paid for"),
        pytest.param(Spending(model="m", calls=5, repeated=2, input_tokens=1, output_tokens=1, cost=1.0), "5 calls, 2 sent again after a break · 1 tokens in, 1 out · $1.00", id="resumed"),
    ],
)  # fmt: skip
def test_what_a_model_came_to(spent, said):
    assert spent_lines(replace(EMPTY, spending=(spent,))) == [("m", said)]


def test_several_models_are_summed():
    lines = spent_lines(judged.RUN)
    assert [name for name, _ in lines] == [judged.SMALL, judged.LARGE, "ollama/llama3", "local/kept", "in all"]
    assert lines[-1][1].endswith("$12.32, price unknown for 9 calls")
    assert spent_lines(EMPTY) == []
    unknown = Spending(model="m", calls=1, unknown_usage=1, unknown_cost=1)
    assert (
        spent_lines(replace(EMPTY, spending=(unknown, unknown)))[-1][1]
        == "2 calls · tokens unknown · price unknown for 2 calls"
    )
