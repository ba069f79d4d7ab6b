"""Charts of a run's metrics, and the pass over its results that they need."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evalmark.core.values.label import Label
from evalmark.core.values.run import Metric, Run
from evalmark.core.values.score import Result
from evalmark.reports.text import titles
from evalmark.reports.text.calibration import unused_labels
from evalmark.stats.calibration.evidence import LabelEvidence, evidence_from_results
from evalmark.stats.calibration.labelled_scores import LabelledScores
from evalmark.stats.summary.pareto import CostCollector, PriceLookup, TargetCost
from evalmark.stats.summary.summary import Summary

from .agreement_chart import PEOPLE, draw_agreement
from .histograms import draw_histogram, merge_metrics
from .roc import draw_separation
from .svg import Figure

_MOST = 12
"""Most histograms of one metric, one for each dataset and target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCharts:
    """Charts and costs that need every result of a run."""

    kinds: Mapping[str, tuple[Figure | None, Figure | None]]
    """Split histogram and ROC curve by metric."""
    agreement: Figure | None
    costs: tuple[TargetCost, ...]
    outputs: int
    """Outputs known to be good or bad."""
    unused_labels: str
    """Description of labels that were not used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCharts:
    """Charts of one metric."""

    metric: Metric
    whole: Figure | None
    """Histogram of all scores; None if ranges differ."""
    spreads: Sequence[tuple[str, Figure]]
    """Histograms by dataset and target, if there are several."""
    left_out: int
    halves: Figure | None
    roc: Figure | None


def metric_charts(
    run: Run, summary: Summary, kinds: Mapping[str, tuple[Figure | None, Figure | None]]
) -> Iterator[MetricCharts]:
    """Yield the charts of each metric of a run."""
    metrics = _metrics(run)
    for name in summary.metric_names:
        groups = [(group, metric) for group in summary.groups for metric in group.metrics if metric.name == name]
        drawn = [
            (title, one)
            for group, metric in groups
            if (one := draw_histogram(metric, title := titles.group_title(group, summary)))
        ]
        whole = merge_metrics([metric for _, metric in groups])
        halves, roc = kinds.get(name, (None, None))
        yield MetricCharts(
            metric=metrics.get(name) or Metric(name=name),
            whole=None if whole is None else draw_histogram(whole),
            spreads=drawn[:_MOST] if len(drawn) > 1 else (),
            left_out=max(0, len(drawn) - _MOST),
            halves=halves,
            roc=roc,
        )


def _metrics(run: Run) -> Mapping[str, Metric]:
    """Metrics by name; without a threshold if datasets differ in it."""
    metrics: dict[str, Metric] = {}
    for metric in run.metrics:
        is_other = metric.name in metrics and metrics[metric.name].threshold != metric.threshold
        metrics[metric.name] = replace(metric, threshold=None) if is_other else metric
    return metrics


def result_charts(
    run: Run, summary: Summary, against: str, labels: Sequence[Label], prices: PriceLookup
) -> ResultCharts:
    """Read the results of a run for charts: compare with the metric `against`, or with labels if it is empty.

    `labels` may contain labels of other runs. No result is read if nothing needs it.
    """
    evidence = (
        evidence_from_results(run.id, run.results, labels) if labels and not against else LabelEvidence(labelled=())
    )
    scores = LabelledScores(
        (metric for name, metric in _metrics(run).items() if name != against), _truth(against, evidence)
    )
    costs = CostCollector(prices)
    adding = [*([scores.add] if against or evidence.labelled else []), *([costs.add] if summary.by_target else [])]
    for result in run.results if adding else ():
        for add in adding:
            add(result)
    separated, by_target = scores.separated(), {cost.target: cost for cost in costs.found()}
    kind_names = ("good", "bad") if against else ("liked", "disliked")
    return ResultCharts(
        kinds={one.metric.name: draw_separation(one, kind_names) for one in separated},
        agreement=draw_agreement(separated, summary.agreements, against or PEOPLE),
        costs=tuple(by_target[target] for target in run.in_order(by_target)),
        outputs=scores.outputs,
        unused_labels=", ".join(unused_labels(replace(evidence, unlabelled=0))),
    )


def _truth(against: str, evidence: LabelEvidence) -> Callable[[Result], bool | None]:
    """Return the reference: the metric of this name, or labels."""
    if not against:
        liked = {label.key: label.liked for label in evidence.labelled}
        return lambda result: liked.get(result.trial.id)
    return lambda result: next((score.passed for score in result.scores if score.name == against), None)
