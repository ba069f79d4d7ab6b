"""One pass over the results of a run; keeps numbers, never outputs."""

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, groupby
from operator import itemgetter
from statistics import median
from typing import Literal

from evalmark.values import Metric, Result, Run, Score

from .intervals import LEVEL
from .means import mean, mean_interval, share_interval
from .summary import Group, MetricSummary, Share, Summary, Tally

BINS = 10
_RANK = {"fail": 0, "error": 1, "unscored": 2, "ungated": 3}
_VERDICTS = ("pass", "fail", "error", "unscored", "ungated")
_UNKNOWN = math.nan  # marks a gap inside the arrays of this file and never leaves it


def summarise(run: Run, *, worst: int = 20, level: float = LEVEL) -> Summary:
    """The figures of a run, found in one pass over its results."""
    groups: dict[tuple[str, str], _Trials] = {}
    last = _Worst(worst)
    for result in run.results:
        trial = result.trial
        key = (trial.dataset, trial.target)
        if (group := groups.get(key)) is None:
            group = groups[key] = _Trials()
        group.add(result)
        last.add(result)
    order = {metric.name: metric for metric in run.metrics}
    datasets: dict[str, int] = {dataset: index for index, dataset in enumerate(dict.fromkeys(d for d, _ in groups))}
    return Summary(
        status=run.status,
        missing=_not_run(run, groups),
        total=_tally([(datasets[dataset], trials) for (dataset, _), trials in groups.items()], level),
        groups=tuple(
            Group(
                dataset=dataset,
                target=target,
                tally=_tally([(0, trials)], level),
                metrics=tuple(_metrics(trials, order, level)),
            )
            for (dataset, target), trials in groups.items()
        ),
        worst=last.in_order(),
    )


def _not_run(run: Run, groups: dict[tuple[str, str], "_Trials"]) -> int | None:
    if run.status == "complete":
        return 0
    rows = [dataset.rows for dataset in run.datasets]
    if not rows or None in rows:
        return None
    targets = len({target for _, target in groups}) or 1
    planned = sum(count or 0 for count in rows) * run.repeat * targets
    return max(0, planned - sum(len(trials.verdicts) for trials in groups.values()))


@dataclass(slots=True)
class _Scores:
    """All scores of one metric in one group."""

    direction: Literal["higher", "lower"]
    statuses: Counter[str] = field(default_factory=Counter)
    values: "array[float]" = field(default_factory=lambda: array("d"))
    raws: "array[float] | None" = None
    """None as long as every raw number equals its value."""
    cases: "array[int]" = field(default_factory=lambda: array("Q"))
    passes: "array[int]" = field(default_factory=lambda: array("b"))
    passing_cases: "array[int]" = field(default_factory=lambda: array("Q"))
    on_failed_outputs: int = 0

    def add(self, score: Score, case: int) -> None:
        self.statuses[score.status] += 1
        if score.passed is not None:
            self.passes.append(score.passed)
            self.passing_cases.append(case)
        if score.status != "scored":
            return
        value = _number(score.value)
        raw = value if score.raw is score.value else _number(score.raw)
        if self.raws is None and raw != value and not (math.isnan(raw) and math.isnan(value)):
            self.raws = array("d", self.values)
        self.values.append(value)
        self.cases.append(case)
        if self.raws is not None:
            self.raws.append(raw)


@dataclass(slots=True)
class _Trials:
    """All trials of one dataset on one target."""

    verdicts: "array[int]" = field(default_factory=lambda: array("b"))
    cases: "array[int]" = field(default_factory=lambda: array("Q"))
    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    repeated: bool = False
    failed_outputs: int = 0
    scores: dict[str, _Scores] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        trial, output = result.trial, result.output
        self.verdicts.append(_VERDICTS.index(result.verdict))
        self.cases.append(trial.position)
        self.repeated = self.repeated or trial.repeat > 0
        self.failed_outputs += output.error is not None
        if output.seconds is not None and math.isfinite(output.seconds):
            self.seconds.append(output.seconds)
        for score in result.scores:
            if (column := self.scores.get(score.name)) is None:
                column = self.scores[score.name] = _Scores(score.direction)
            column.add(score, trial.position)
            column.on_failed_outputs += output.error is not None


@dataclass(slots=True)
class _Worst:
    """The few trials to look at first."""

    limit: int
    seen: int = 0
    heap: list[tuple[int, float, int, Result]] = field(default_factory=list)

    def add(self, result: Result) -> None:
        self.seen += 1
        if (verdict := result.verdict) == "pass" or not self.limit:
            return
        # Negated, so that the heap gives up the best of the worst; `seen` keeps the order of the run.
        entry = (-_RANK[verdict], -_goodness(result, failed=verdict == "fail"), -self.seen, result)
        if len(self.heap) < self.limit:
            heapq.heappush(self.heap, entry)
        else:
            heapq.heappushpop(self.heap, entry)

    def in_order(self) -> tuple[Result, ...]:
        return tuple(entry[-1] for entry in sorted(self.heap, key=itemgetter(0, 1, 2), reverse=True))


def _goodness(result: Result, *, failed: bool) -> float:
    """From 0 to 1 with 1 the best: the worst score that failed, or the mean of all where none could; 0 of nothing."""
    values = [(s, s.value if s.direction == "higher" else 1 - s.value) for s in result.scores if s.value is not None]
    if failed:
        return min((value for score, value in values if score.passed is False), default=0)
    return math.fsum(value for _, value in values) / len(values) if values else 0


def _number(value: object) -> float:
    if not isinstance(value, (int, float)):
        return _UNKNOWN
    try:
        number = float(value)
    except OverflowError:
        return _UNKNOWN
    return number if math.isfinite(number) else _UNKNOWN


def _share(passes: Sequence[int], cases: Sequence[int] | None, level: float) -> Share:
    n, passed = len(passes), sum(passes)
    return Share(passed=passed, n=n, value=passed / n if n else None, interval=share_interval(passes, cases, level))


def _tally(parts: list[tuple[int, _Trials]], level: float) -> Tally:
    """`parts` pairs each group with its dataset, so that a case met by two targets is one case."""
    verdicts = array("b", chain.from_iterable(trials.verdicts for _, trials in parts))
    cases = array("Q", (dataset << 40 | case for dataset, trials in parts for case in trials.cases))
    judged = [verdict < 2 for verdict in verdicts]
    seconds = sorted(chain.from_iterable(trials.seconds for _, trials in parts))
    repeated = any(trials.repeated for _, trials in parts)
    once = len(cases) == (distinct := len(set(cases)))
    counts = Counter(verdicts)
    return Tally(
        trials=len(cases),
        cases=distinct,
        passed=counts[0],
        failed=counts[1],
        errors=counts[2],
        unscored=counts[3],
        ungated=counts[4],
        pass_rate=_share(
            array("b", (verdict == 0 for verdict in compress(verdicts, judged))),
            None if once else array("Q", compress(cases, judged)),
            level,
        ),
        flips=sum(_flips(trials) for _, trials in parts) if repeated else None,
        seconds_median=median(seconds) if seconds else None,
        seconds_p95=_quantile(seconds, 0.95),
    )


def _flips(trials: _Trials) -> int:
    pairs = sorted(set(zip(trials.cases, trials.verdicts, strict=True)))
    return sum(len(list(group)) > 1 for _, group in groupby(pairs, key=itemgetter(0)))


def _quantile(ordered: Sequence[float], q: float) -> float | None:
    """Linear between the two nearest, as numpy does it."""
    if not ordered:
        return None
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _metrics(trials: _Trials, known: dict[str, Metric], level: float) -> Iterable[MetricSummary]:
    names = [name for name in known if name in trials.scores] + [name for name in trials.scores if name not in known]
    return (_metric(known.get(name) or Metric(name=name), trials.scores[name], trials, level) for name in names)


def _metric(metric: Metric, scores: _Scores, trials: _Trials, level: float) -> MetricSummary:
    raws = scores.values if scores.raws is None else scores.raws
    scale, column = _scale(scores.values, raws)
    known_places = [not math.isnan(value) for value in column]
    values = array("d", compress(column, known_places))
    cases = array("Q", compress(scores.cases, known_places)) if trials.repeated else None
    known_raws = [raw for raw in raws if not math.isnan(raw)] if scores.raws is not None and scale == "value" else []
    bounded = scale == "value" and all(0 <= value <= 1 for value in values)
    low, high = (0.0, 1.0) if bounded or not values else (min(values), max(values))
    status = scores.statuses
    return MetricSummary(
        name=metric.name,
        direction=scores.direction,
        threshold=metric.threshold,
        scored=status["scored"],
        unscored=status["unscored"],
        errors=status["error"],
        skipped=status["skipped"],
        missing=status["unscored"] + status["error"] + trials.failed_outputs - scores.on_failed_outputs,
        scale=scale,
        unit=(metric.unit or "raw") if scale == "raw" else "",
        n=len(values),
        mean=mean(values),
        interval=mean_interval(values, level, clusters=cases, bounded=bounded),
        raw_mean=mean(known_raws),
        raw_unit=(metric.unit or "raw") if known_raws else "",
        bins=_bins(values, low, high),
        low=low,
        high=high,
        pass_rate=_share(scores.passes, scores.passing_cases if trials.repeated else None, level),
    )


def _scale(values: "array[float]", raws: "array[float]") -> tuple[Literal["value", "raw"] | None, "array[float]"]:
    """Values when all scores have one; else raw numbers, as a mean over part of them would mislead."""
    with_value = len(values) - sum(map(math.isnan, values))
    with_raw = len(raws) - sum(map(math.isnan, raws))
    if not with_value and not with_raw:
        return None, values
    return ("value", values) if with_value >= with_raw else ("raw", raws)


def _bins(values: Sequence[float], low: float, high: float) -> tuple[int, ...]:
    if not values:
        return ()
    counts = [0] * BINS
    width = high / BINS - low / BINS  # divided first: the difference of two large numbers may be infinite
    for value in values:
        place = (value / width - low / width) if width else 0
        counts[min(BINS - 1, max(0, int(place)))] += 1
    return tuple(counts)
