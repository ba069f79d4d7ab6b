"""Charts of a run's metrics, and the pass over its results that they need."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evalmark.core.values.label import Label
from evalmark.core.values.run import Metric, Run
from evalmark.core.values.score import Result
from evalmark.reports.text import numbers, titles
from evalmark.reports.text.calibration import unused_labels
from evalmark.stats.calibration.evidence import LabelEvidence, evidence_from_results
from evalmark.stats.calibration.labelled_scores import LabelledScores
from evalmark.stats.summary.clusters import ClusterFinder
from evalmark.stats.summary.pareto import CostCollector, PriceLookup, TargetCost
from evalmark.stats.summary.summary import MetricSummary, Summary, SummaryGroup

from .agreement_chart import PEOPLE, draw_agreement
from .histograms import BinLink, can_list_bins, draw_histogram, merge_metrics
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
    figures: str
    """Mean with interval, and how many outputs passed; empty if several datasets or targets have their own."""
    whole: Figure | None
    """Histogram of all scores; None if ranges differ."""
    spreads: Sequence[tuple[str, Figure]]
    """Histograms by dataset and target, if there are several."""
    left_out: int
    halves: Figure | None
    roc: Figure | None


GroupLink = Callable[[SummaryGroup | None], BinLink | None]
"""Returns the links of the bars of a group of trials, or of all of them; None if a list cannot select exactly these."""


def metric_charts(
    run: Run,
    summary: Summary,
    kinds: Mapping[str, tuple[Figure | None, Figure | None]],
    link: GroupLink | None = None,
    names: Sequence[str] | None = None,
) -> Iterator[MetricCharts]:
    """Yield the charts of each metric of a run, or of those in `names`; with `link`, bars lead to their cases."""
    metrics = _metrics(run)
    of_groups = [(group, {metric.name: metric for metric in group.metrics}) for group in summary.groups]
    for name in summary.metric_names if names is None else names:
        groups = [(group, by_name[name]) for group, by_name in of_groups if name in by_name]
        drawn = [
            (title, one)
            for group, metric in groups
            if (
                one := draw_histogram(metric, title := titles.group_title(group, summary), _linked(metric, group, link))
            )
        ]
        whole = merge_metrics([metric for _, metric in groups])
        halves, roc = kinds.get(name, (None, None))
        yield MetricCharts(
            metric=metrics.get(name) or Metric(name=name),
            figures=_figures(groups[0][1]) if len(groups) == 1 else "",
            whole=None if whole is None else draw_histogram(whole, link=_linked(whole, None, link)),
            spreads=drawn[:_MOST] if len(drawn) > 1 else (),
            left_out=max(0, len(drawn) - _MOST),
            halves=halves,
            roc=roc,
        )


def _linked(metric: MetricSummary, group: SummaryGroup | None, link: GroupLink | None) -> BinLink | None:
    return None if link is None or not can_list_bins(metric) else link(group)


def _figures(metric: MetricSummary) -> str:
    """Write the mean of a metric with its interval, and how many outputs passed."""
    if metric.mean is None:
        return ""
    name = "yes" if metric.truths else "mean"
    interval = f" ({numbers.mean_interval(metric)})" if metric.interval.known else ""
    rate = metric.pass_rate
    is_told = metric.truths and rate.value == metric.mean
    passed = f"; {rate.passed:,} of {rate.n:,} passed" if rate.n and not is_told else ""
    return f"{name} {numbers.mean_text(metric)}{interval}{passed}"


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
        (metric for name, metric in _metrics(run).items() if name != against),
        _truth(against, evidence),
        ClusterFinder(run).find,
    )
    costs = CostCollector(prices)
    adding = [*([scores.add] if against or evidence.labelled else []), *([costs.add] if summary.by_target else [])]
    for result in run.results if adding else ():
        for add in adding:
            add(result)
    separated, by_target = scores.separated(), {cost.target: cost for cost in costs.found()}
    # only some of the numbers of such a metric happen to lie between 0 and 1
    in_units = {metric.name for metric in summary.metrics if metric.scale != "value"}
    yes_no = {metric.name for metric in summary.metrics if metric.truths}
    return ResultCharts(
        kinds={
            one.metric.name: draw_separation(one, is_yes_no=one.metric.name in yes_no)
            for one in separated
            if one.metric.name not in in_units
        },
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
