"""Metrics of a run against several baselines."""

from dataclasses import replace

from evalmark.reports.text.comparison import change_rows
from evalmark.reports.text.several_baselines import metrics_against

from .compared import WORSE

[TARGET] = WORSE.targets


def test_each_metric_has_a_cell_for_each_baseline_that_has_it():
    fewer = replace(TARGET, metrics=TARGET.metrics[:-1])
    rows = metrics_against([replace(WORSE, targets=(fewer,)), WORSE])
    expected = change_rows(TARGET)
    assert [row.metric for row in rows] == [row.metric for row in expected]
    assert [row.cells[1] for row in rows] == list(zip(expected, TARGET.changes, strict=True))
    assert [row.metric for row in rows if row.cells[0] is None] == [expected[-1].metric]


def test_targets_with_metrics_of_their_own_have_no_common_table():
    assert metrics_against([WORSE, replace(WORSE, targets=(TARGET, TARGET))]) == []
    assert metrics_against([]) == []
