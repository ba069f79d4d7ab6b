"""Table of a run against several baselines: a row for each metric, a column for each baseline."""

from collections.abc import Sequence
from typing import NamedTuple

from evalmark.stats.comparison.change import Comparison, MetricChange

from .comparison import ChangeRow, change_rows


class MetricAgainst(NamedTuple):
    """A metric, and its change against each baseline; None where one of the two runs lacks the metric."""

    metric: str
    cells: Sequence[tuple[ChangeRow, MetricChange] | None]


def metrics_against(comparisons: Sequence[Comparison]) -> list[MetricAgainst]:
    """Return a row for each metric; none if a comparison has several targets, which have metrics of their own."""
    if any(len(one.targets) != 1 for one in comparisons):
        return []
    columns = [
        {row.metric: (row, change) for row, change in zip(change_rows(target, one.gate), target.changes, strict=True)}
        for one in comparisons
        for target in one.targets
    ]
    names = dict.fromkeys(name for column in columns for name in column)
    return [MetricAgainst(name, [column.get(name) for column in columns]) for name in names]
