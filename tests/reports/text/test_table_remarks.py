"""Notes below the table of a comparison."""

import pytest

from evalmark import Case, Output, Result, Run, Score, compare
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Trial
from evalmark.reports.text.comparison import table_remarks


def run(name: str, verdicts: dict[str, dict[str, list[bool]]]) -> Run:
    """A run with the verdicts of each metric on each case, by target."""
    results = [
        Result(
            trial=Trial(case=Case(id=str(number), input=str(number)), dataset="d", position=number, target=target),
            output=Output(value="x"),
            scores=tuple(
                Score(name=metric, value=float(one[number]), passed=one[number]) for metric, one in of.items()
            ),
        )
        for target, of in verdicts.items()
        for number in range(4)
    ]
    metrics = tuple(Metric(name=metric) for metric in next(iter(verdicts.values())))
    return Run(id=name, name="n", created="2026-11-21T10:15:00+00:00", metrics=metrics, results=results)


HALF, QUARTER, ALL = [True, True, False, False], [True, False, False, False], [True] * 4


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        pytest.param({"a": {"contains": HALF}}, ["contains: the same as the pass rate."], id="the only metric"),
        pytest.param(
            {"a": {"contains": HALF, "short": ALL}}, ["contains: the same as the pass rate."], id="one of two"
        ),
        pytest.param(
            {"a": {"contains": HALF, "equals": HALF}}, ["contains, equals: the same as the pass rate."], id="two of two"
        ),
        pytest.param({"a": {"contains": HALF, "short": [False, True] * 2}}, [], id="none, as each fails other cases"),
        pytest.param(
            {"a": {"contains": HALF, "short": ALL}, "b": {"contains": HALF, "short": QUARTER}},
            ["contains: the same as the pass rate of a.", "short: the same as the pass rate of b."],
            id="another one for each target",
        ),
    ],
)
def test_a_metric_without_a_row_is_named_as_the_same_as_the_pass_rate(verdicts, said):
    found = compare(run("now", verdicts), run("then", verdicts))
    assert [remark for remark in table_remarks(found) if "the same as" in remark] == said
