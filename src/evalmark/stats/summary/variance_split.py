"""Splits the variance of a metric by its sources, and finds the larger sample that would narrow its interval most."""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evalmark.stats.inference.intervals import Interval
from evalmark.stats.inference.means import FEW, mean_interval, projected_interval
from evalmark.stats.inference.variance import REST, variance_components

from .collection import REPEAT_BITS, MetricScores, TrialGroup
from .metric_summary import scale_ends
from .summary import MetricSummary, ProjectedInterval, SampleChange, VarianceSource, VarianceSplit

TOLERANCE = 0.05
"""Half-widths up to this share above the narrowest count as equal to it."""
_REMOVED: Mapping[SampleChange, tuple[float, tuple[VarianceSource, ...]]] = {
    "better_judge": (1.0, ("judge_by_case", "verdict")),
    "verdicts": (0.5, ("verdict",)),
    "judges": (0.5, ("judge_by_case", "verdict")),
    "repeats": (0.5, ("repeat", "verdict")),
    "cases": (0.5, ("case", "repeat", "judge_by_case", "verdict")),
}
"""For each change, the share that it removes from the variance of the mean, and the sources it acts on; the least new data first."""
_WITH_OUTPUTS: Collection[SampleChange] = ("clusters", "cases", "repeats")


@dataclass(slots=True)
class _Scores:
    """The scores of a metric by all its judges, with the levels of each factor."""

    unit: str
    judges: int
    values: "array[float]" = field(default_factory=lambda: array("d"))
    clusters: "array[int]" = field(default_factory=lambda: array("Q"))
    cases: "array[int]" = field(default_factory=lambda: array("Q"))
    outputs: "array[int]" = field(default_factory=lambda: array("Q"))
    judge_numbers: "array[int]" = field(default_factory=lambda: array("Q"))
    verdicts: int = 0
    repeated_verdicts: int = 0
    """The number of scores that are the mean of several verdicts of the only judge."""
    verdict_variance: float | None = None
    """The variance that single verdicts add to such a score."""

    def add(self, scores: MetricScores, summary: MetricSummary, judge: int) -> None:
        """Add the scores of one judge."""
        column = scores.values if summary.scale == "value" or scores.raws is None else scores.raws
        for value, cluster, output in zip(column, scores.clusters, scores.outputs, strict=True):
            if not math.isnan(value):
                self.values.append(value)
                self.clusters.append(cluster)
                self.cases.append(cluster if self.unit == "case" else output >> REPEAT_BITS)
                self.outputs.append(output)
                self.judge_numbers.append(judge)
        spread = scores.details.verdicts
        if summary.judge:
            self.verdicts += summary.n + spread.verdicts - spread.scores
        if spread.scores == summary.n and summary.scale == "value" and self.judges < 2:
            single = spread.variance(*(scale_ends(summary.raw_unit or summary.unit) or (0.0, 1.0)))
            self.verdict_variance = None if single is None else single * spread.shares / spread.scores
            self.repeated_verdicts = 0 if single is None else spread.scores

    def output_means(self) -> tuple[Sequence[float], Sequence[int]]:
        """Return the value and the cluster of each output; with several judges, the mean of at least two."""
        if self.judges < 2:
            return self.values, self.clusters
        sums: dict[int, list[float]] = {}
        for output, value in zip(self.outputs, self.values, strict=True):
            sums.setdefault(output, []).append(value)
        clusters = dict(zip(self.outputs, self.clusters, strict=True))
        kept = {output: values for output, values in sums.items() if len(values) > 1}
        return [math.fsum(values) / len(values) for values in kept.values()], [clusters[output] for output in kept]

    @property
    def has_constant_judge(self) -> bool:
        """Whether one of several judges gave all its outputs the same score."""
        if self.judges < 2:
            return False
        ends: dict[int, tuple[float, float]] = {}
        for judge, value in zip(self.judge_numbers, self.values, strict=True):
            low, high = ends.get(judge, (value, value))
            ends[judge] = min(low, value), max(high, value)
        return any(low == high for low, high in ends.values())

    @property
    def repeated_cases(self) -> int:
        """The number of cases with several scored outputs."""
        return sum(n > 1 for n in Counter(case for case, _ in set(zip(self.cases, self.outputs, strict=True))).values())

    @property
    def shared_outputs(self) -> int:
        """The number of outputs that several judges scored."""
        return sum(n > 1 for n in Counter(self.outputs).values()) if self.judges > 1 else 0


def variance_splits(
    trials: TrialGroup, summaries: Sequence[MetricSummary], unit: str, level: float
) -> tuple[VarianceSplit, ...]:
    """Split the variance of each metric of a group with repeats, several judges or repeated verdicts.

    Args:
        trials: The trials of the group.
        summaries: The summaries of its metrics.
        unit: The name of a cluster; `case` if cases are independent.
        level: The confidence level, between 0 and 1.

    Returns:
        The splits by metric; several judges of one metric are one split. Where the variance cannot be split, that of
        repeated cases states the reason, and others are left out.
    """
    by_base: dict[str, list[MetricSummary]] = {}
    for summary in summaries:
        if summary.n:
            by_base.setdefault(summary.base or summary.name, []).append(summary)
    splits = []
    for name, judged in by_base.items():
        has_repeated_verdicts = any(trials.metrics[one.name].details.verdicts.scores for one in judged)
        if len({one.scale for one in judged}) == 1 and (trials.repeated or len(judged) > 1 or has_repeated_verdicts):
            split = _split(name, judged, trials.metrics, unit, level)
            if trials.repeated or not split.reason:
                splits.append(split)
    return tuple(splits)


def _split(
    name: str, summaries: Sequence[MetricSummary], metrics: Mapping[str, MetricScores], unit: str, level: float
) -> VarianceSplit:
    scores = _Scores(unit, judges=sum(bool(summary.judge) for summary in summaries))
    for judge, summary in enumerate(summaries):
        scores.add(metrics[summary.name], summary, judge)
    values, clusters = scores.output_means()
    bounded = summaries[0].scale == "value" and all(0 <= value <= 1 for value in values)
    interval = summaries[0].interval
    if len(summaries) > 1:
        interval = mean_interval(values, level, clusters=clusters, bounded=bounded, unit=unit)
    split = VarianceSplit(
        metric=name,
        unit=unit,
        outputs=len(values),
        verdicts=scores.verdicts,
        judges=scores.judges,
        interval=interval,
        reason=_obstacle(scores, interval),
    )
    if split.reason:
        return split
    estimates = _estimates(scores)
    components = {source: None if value is None else max(0.0, value) for source, value in estimates.items()}
    parts = _parts_of_mean(scores, components)
    if not math.fsum(parts.values()):
        return replace(split, reason="its sources cannot be separated with these scores")

    def project(growth: tuple[int, int], variance: float) -> Interval:
        return projected_interval(values, clusters, level, bounded=bounded, growth=growth, variance=variance)

    projections = sorted(_projections(split, components, parts, project), key=lambda one: one.half_width)
    return replace(
        split,
        components=components,
        below_zero=tuple(source for source, value in estimates.items() if value is not None and value < 0),
        projections=tuple(projections),
        advice=_advice(projections),
    )


def _obstacle(scores: _Scores, interval: Interval) -> str:
    """Return why the variance cannot be split; empty if it can."""
    if min(scores.values) == max(scores.values):
        return "all scores are equal"
    if scores.has_constant_judge:  # differences between cases would count as disagreement with this judge
        return "one judge gave every output the same score"
    if not interval.known:
        return interval.method.removeprefix("none: ")
    if (groups := len(set(scores.clusters))) < FEW:
        return f"at least {FEW} {scores.unit}s with scores are needed, and there are {groups}"
    if (twice := max(scores.repeated_cases, scores.shared_outputs, scores.repeated_verdicts)) < FEW:
        return f"at least {FEW} cases that are scored twice are needed, and there are {twice}"
    return ""


def _estimates(scores: _Scores) -> dict[VarianceSource, float | None]:
    """Estimate the variance of a single score from each source; None for sources that are part of another."""
    repeated, several = scores.repeated_cases >= FEW, scores.shared_outputs >= FEW
    # where too few cases have several outputs, each output counts as a case of its own
    cases = scores.cases if repeated else scores.outputs
    factors: dict[str, Sequence[int]] = {"case": cases} if repeated or several else {}
    if scores.unit != "case" and len(set(cases)) - len(set(scores.clusters)) >= FEW:
        factors["cluster"] = scores.clusters
    if several:
        factors["judge"] = scores.judge_numbers
    if several and repeated:
        factors["repeat"] = scores.outputs
        factors["judge_by_case"] = _crossed(cases, scores.judge_numbers)
    components = variance_components(scores.values.tolist(), factors)
    rest = components[REST]
    estimates: dict[VarianceSource, float | None] = {
        "cluster": components.get("cluster"),
        "case": components.get("case"),
        "repeat": components.get("repeat"),
        "judge": components.get("judge"),
        "judge_by_case": components.get("judge_by_case"),
        "verdict": scores.verdict_variance,
    }
    if several:
        estimates["verdict" if repeated else "judge_by_case"] = rest
    elif rest is not None:
        estimates["repeat" if repeated else "case"] = rest - (scores.verdict_variance or 0.0)
    return estimates


def _crossed(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Number the combinations of levels of two factors."""
    numbers: dict[tuple[int, int], int] = {}
    return [numbers.setdefault(pair, len(numbers)) for pair in zip(first, second, strict=True)]


def _parts_of_mean(scores: _Scores, components: Mapping[VarianceSource, float | None]) -> dict[VarianceSource, float]:
    """Return the part of the variance of the mean from each source; the level of these judges is not part of its interval."""
    levels: Mapping[VarianceSource, Sequence[int]] = {
        "cluster": scores.clusters,
        "case": scores.cases,
        "repeat": scores.outputs,
        "judge_by_case": _crossed(scores.cases, scores.judge_numbers),
        "verdict": range(len(scores.values)),
    }
    n = len(scores.values)
    return {
        source: component * math.fsum((count / n) ** 2 for count in Counter(levels[source]).values())
        for source, component in components.items()
        if component is not None and source in levels
    }


def _projections(
    split: VarianceSplit,
    components: Mapping[VarianceSource, float | None],
    parts: Mapping[VarianceSource, float],
    project: Callable[[tuple[int, int], float], Interval],
) -> Iterator[ProjectedInterval]:
    """Yield the interval after each change whose effect is known from the components."""
    is_known: Mapping[SampleChange, bool] = {
        "cases": components["cluster"] is not None,
        "repeats": components["repeat"] is not None,
        "judges": split.judges > 1,
        "verdicts": split.judges == 1 and components["verdict"] is not None,
        "better_judge": split.judges > 1 or components["verdict"] is not None,
    }
    of_units: SampleChange = "cases" if split.unit == "case" else "clusters"
    changes: list[tuple[SampleChange, tuple[int, int], float]] = [(of_units, (2, 1), 1.0)]
    total = math.fsum(parts.values())
    for change, (share, sources) in _REMOVED.items():
        if is_known[change]:
            affected = math.fsum(parts.get(source, 0.0) for source in sources) / total
            changes.append((change, (1, 2 if change in _WITH_OUTPUTS else 1), max(0.0, 1 - share * affected)))
    for change, growth, variance in changes:
        if (half_width := project(growth, variance).half_width) is not None:
            yield ProjectedInterval(
                change=change,
                half_width=half_width,
                outputs=split.outputs if change in _WITH_OUTPUTS else 0,
                verdicts=0 if change == "better_judge" else split.verdicts,
            )


def _advice(projections: Sequence[ProjectedInterval]) -> ProjectedInterval | None:
    """Return the cheapest change among those whose interval is about as narrow as the narrowest."""
    if not projections:
        return None
    limit = min(one.half_width for one in projections) * (1 + TOLERANCE)
    return min(
        (one for one in projections if one.half_width <= limit),
        key=lambda one: (one.outputs + one.verdicts, [*_REMOVED, "clusters"].index(one.change)),
    )
