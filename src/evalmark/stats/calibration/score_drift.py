"""Warns if the scores of a run come from another distribution than those that a threshold was learned from."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from evalmark.core.text import one_line, percent
from evalmark.core.values.run import SCORES_MOVED, Metric, Run
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.shift import DistributionShift, distribution_shift
from evalmark.stats.summary.clusters import ClusterFinder

from .lock_file import LockedThreshold
from .threshold_calibration import score_value

ALARM = 0.05
"""Scores whose distribution is less probable than this after no change raise an alarm, over all metrics and targets of a run."""


@dataclass(slots=True)
class _TargetScores:
    """The scores of one metric on one target."""

    values: list[float] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)


@check_arguments
def score_changes(run: Run, entries: Mapping[str, LockedThreshold], path: str) -> Iterator[str]:
    """Yield a warning for each metric and target whose scores have moved since the threshold of the metric was learned.

    `entries` has the threshold of each metric of the run, `path` names the lock file. No more than 5 % of the runs without
    any change get a warning.
    """
    metrics = {metric.name: metric for metric in run.metrics if metric.name in entries}
    columns = _columns(run, metrics)
    level = ALARM / max(1, len(columns)) / (1 if run.shard is None else run.shard.of)
    targets = {target for _, target in columns}
    for (name, target), column in columns.items():
        earlier = entries[name].scores
        found = None if earlier is None else distribution_shift(earlier, column.values, column.clusters)
        if found is not None and found.p < level:
            where = f" on {one_line(target, 40)}" if len(targets) > 1 else ""
            yield f"Warning: {path}: the scores of {name}{where} {SCORES_MOVED} ({_described(found)}); {ADVICE}"


ADVICE = (
    "the bound may not hold for them. Draw outputs of this run with evalmark label, label them, and calibrate again."
)


def _described(found: DistributionShift) -> str:
    chance = "less than 0.1 %" if found.p < 0.001 else percent(found.p, 2)
    return f"{percent(found.higher, 2)} of pairs have a higher later score; probability without a change: {chance}"


def _columns(run: Run, metrics: Mapping[str, Metric]) -> dict[tuple[str, str], _TargetScores]:
    columns: defaultdict[tuple[str, str], _TargetScores] = defaultdict(_TargetScores)
    finder = ClusterFinder(run)
    for result in run.results:
        trial = result.trial
        for score in result.scores:
            metric = metrics.get(score.name)
            value = None if metric is None or result.output.error is not None else score_value(score, metric)
            if value is not None:
                column = columns[score.name, trial.target]
                column.values.append(value)
                column.clusters.append(finder.name(trial))
    return columns
