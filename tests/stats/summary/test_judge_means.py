"""The mean of several judges of one metric, output by output, and over a run."""

import pytest

from evalmark import Case, Output, Result, Run, Score
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.stats.summary.judge_panel import mean_scores, metrics_with_several_judges
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.target_overview import overview

JUDGES = tuple(Metric(name=f"kind [{judge}]", judge=judge, base="kind", unit="%") for judge in "ab")
OTHERS = (Metric(name="exact"), Metric(name="alone [a]", judge="a", base="alone"))


def score(judge: str, value: float | None, status="scored", raw=None) -> Score:
    return Score(name=f"kind [{judge}]", raw=raw, value=value, status=status)


def test_a_metric_is_shared_where_several_judges_have_it():
    assert metrics_with_several_judges((*JUDGES, *OTHERS, JUDGES[0])) == {"kind": JUDGES}


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        pytest.param([score("a", 0.5, raw=50), score("b", 1.0, raw=100)], ("scored", 0.75, 75.0), id="numbers"),
        pytest.param([score("a", 0.0, raw=False), score("b", 1.0, raw=True)], ("scored", 0.5, 0.5), id="yes and no"),
        pytest.param([score("a", 0.5), score("b", None, "unscored")], ("unscored", None, None), id="one says nothing"),
        pytest.param([score("a", 0.5), score("b", None, "error")], ("unscored", None, None), id="one broke"),
        pytest.param([score("a", None, "skipped"), score("b", None, "skipped")], None, id="nobody was asked"),
        pytest.param([score("a", None, raw="D"), score("b", None, raw="E")], None, id="names have no mean"),
        pytest.param([], None, id="no scores"),
    ],
)
def test_the_mean_is_of_what_all_judges_say(scores, said):
    found = [(s.status, s.value, s.raw) for s in mean_scores(scores, {"kind": JUDGES})]
    assert found == ([] if said is None else [said])


def run() -> Run:
    """Two targets, five cases each; the second judge gives half of what the first gives."""
    results = [
        Result(
            trial=Trial(case=Case(id=str(n)), dataset="d", target=target, position=n),
            output=Output(value="x"),
            scores=(
                score("a", best - n / 10, raw=100 * best - 10 * n),
                score("b", (best - n / 10) / 2, raw=50 * best - 5 * n),
            ),
        )
        for target, best in (("s", 0.8), ("t", 1.0))
        for n in range(5)
    ]
    return Run(id="r", name="n", created="", metrics=JUDGES, results=results)


def test_the_overview_has_the_mean_behind_its_judges_and_says_how_they_agree():
    found = overview(run())
    (first, second) = found.standings
    assert [metric.name for metric in first.metrics] == ["kind [a]", "kind [b]", "kind [mean of 2 judges]"]
    assert [round(metric.mean, 6) for metric in first.metrics] == [0.6, 0.3, 0.45]
    assert (round(second.metrics[2].raw_mean, 6), second.metrics[2].unit) == (60.0, "")
    assert "kind [mean of 2 judges]" in {difference.metric for difference in found.differences}
    assert found.agreements == summarise(run()).agreements


def test_the_agreement_has_the_mean_over_judges_and_outputs():
    (found,) = summarise(run()).agreements
    assert found.mean == pytest.approx(0.525)
    assert found.mean_interval.low < 0.525 < found.mean_interval.high
