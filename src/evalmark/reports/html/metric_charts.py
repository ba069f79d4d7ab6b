"""The pictures of a run's metrics, and what has to be gathered from its results for them: one pass, or two with labels."""

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

from .agreement_chart import draw_agreement
from .histograms import draw_histogram, merge_metrics
from .roc import draw_separation
from .svg import Figure

_MOST = 12
"""Pictures of the spread of one metric, a dataset and target each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCharts:
    """What only the results of a run can tell."""

    kinds: Mapping[str, tuple[Figure | None, Figure | None]]
    """By metric, good outputs against bad ones."""
    agreement: Figure | None
    worths: tuple[TargetCost, ...]
    outputs: int
    """Of which it is known whether they are good."""
    beside: str
    """The labels that were not used, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCharts:
    """The pictures of one metric."""

    metric: Metric
    whole: Figure | None
    """How all scores spread; None where datasets and targets have scores of different ranges."""
    spreads: Sequence[tuple[str, Figure]]
    """The same for each dataset and target, where there are several."""
    left_out: int
    halves: Figure | None
    roc: Figure | None


def metric_charts(
    run: Run, summary: Summary, kinds: Mapping[str, tuple[Figure | None, Figure | None]]
) -> Iterator[MetricCharts]:
    """A section for each metric of a run, in its order."""
    metrics = _metrics(run)
    for name in summary.metric_names:
        found = [(group, metric) for group in summary.groups for metric in group.metrics if metric.name == name]
        drawn = [
            (title, one)
            for group, metric in found
            if (one := draw_histogram(metric, title := titles.group_title(group, summary)))
        ]
        whole = merge_metrics([metric for _, metric in found])
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
    """The metrics by name; without a threshold where datasets have several."""
    found: dict[str, Metric] = {}
    for metric in run.metrics:
        is_other = metric.name in found and found[metric.name].threshold != metric.threshold
        found[metric.name] = replace(metric, threshold=None) if is_other else metric
    return found


def result_charts(
    run: Run, summary: Summary, against: str, labels: Sequence[Label], prices: PriceLookup
) -> ResultCharts:
    """What the results of a run tell beyond its figures: held against a metric, or against what people say where `against` is empty.

    `labels` may hold labels on anything. Where nothing has to be looked for, no result is read.
    """
    evidence = evidence_from_results(run.id, run.results, labels) if labels and not against else LabelEvidence(told=())
    known = LabelledScores(
        (metric for name, metric in _metrics(run).items() if name != against), _truth(against, evidence)
    )
    worths = CostCollector(prices)
    adding = [*([known.add] if against or evidence.told else []), *([worths.add] if summary.by_target else [])]
    for result in run.results if adding else ():
        for add in adding:
            add(result)
    separated, by_target = known.separated(), {worth.target: worth for worth in worths.found()}
    words = ("good", "bad") if against else ("liked", "disliked")
    return ResultCharts(
        kinds={one.metric.name: draw_separation(one, words) for one in separated},
        agreement=draw_agreement(separated, summary.agreements, against or "people"),
        worths=tuple(by_target[target] for target in run.in_order(by_target)),
        outputs=known.outputs,
        beside=", ".join(unused_labels(replace(evidence, unlabelled=0))),
    )


def _truth(against: str, evidence: LabelEvidence) -> Callable[[Result], bool | None]:
    """What outputs are held against: the metric of this name, or people."""
    if not against:
        liked = {told.key: told.liked for told in evidence.told}
        return lambda result: liked.get(result.trial.id)
    return lambda result: next((score.passed for score in result.scores if score.name == against), None)
