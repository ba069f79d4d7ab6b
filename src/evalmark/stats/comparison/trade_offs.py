"""Compares several targets by quality, cost and latency, and finds those that another one dominates."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal, TypedDict

from evalmark.core.errors import ConfigError
from evalmark.core.values.run import Run
from evalmark.core.values.score import Direction
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.differences import MARGIN, Difference
from evalmark.stats.inference.intervals import LEVEL, Interval, no_interval
from evalmark.stats.inference.missing import adjust_differences
from evalmark.stats.inference.multiple_tests import holm
from evalmark.stats.summary.pareto import CostCollector, PriceLookup, TargetCost
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.summary import Summary, TrialCounts

from .compare import compare_in_metric, compare_targets
from .metric_values import VERDICT

Standing = Literal["frontier", "dominated", "not told apart"]
Criterion = Literal["cost", "latency"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff:
    """The quality, cost and latency of one target of a run, and whether another one dominates it."""

    name: str
    run: str
    """The id of the run."""
    target: str
    quality: float | None
    """The pass rate, or the mean of the metric; None if the run has none."""
    interval: Interval
    n: int
    """The number of trials, or of scores, in `quality`."""
    cost: TargetCost
    """Of the target's own calls, without judges."""
    seconds: float | None
    """The median time of an output; None if unknown."""
    standing: Standing = "frontier"
    others: tuple[str, ...] = ()
    """The names of the targets that dominate it, or else of those that it cannot be told apart from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOffs:
    """The quality, cost and latency of several targets."""

    metric: str
    """The metric that is the quality; empty: the pass rate."""
    rows: tuple[TradeOff, ...]
    direction: Direction = "higher"
    """Which direction of the metric is better."""
    level: float
    tests: int
    """The number of pairwise tests of quality, for which p is adjusted."""
    unknown: tuple[Criterion, ...] = ()
    """The criteria that are unknown for every target and therefore not compared."""
    differences: Mapping[tuple[int, int], Difference] = field(default_factory=dict)
    """The difference of quality of each pair of rows with a case in common, by their positions, the lower one first; p is
    adjusted over all pairs (Holm).
    """

    def difference(self, row: int, other: int) -> Difference | None:
        """Return the difference of a row from another one, positive if the row is better; None without a common case."""
        if (found := self.differences.get((row, other))) is not None:
            return found
        reverse = self.differences.get((other, row))
        return None if reverse is None else reverse.swapped


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A run whose targets are compared."""

    name: str
    run: Run
    prices: PriceLookup


@check_arguments
def trade_offs(candidates: Iterable[Candidate], *, level: float = LEVEL, margin: float = MARGIN) -> TradeOffs:
    """Compare the targets of several runs, or of one, by quality, cost and latency.

    A target is `dominated` if another one is better, by the comparison of the two case by case, and neither costs more nor
    takes longer. The p-values of all pairs are adjusted together (Holm). It is `not told apart` if another one neither costs
    more nor takes longer, and is not shown to be worse: it may dominate. Otherwise it is on the `frontier`. A target whose
    cost or time is unknown neither dominates another one nor is dominated, unless that is unknown for all targets.

    Args:
        candidates: the runs, at least one; each of their targets is a row.
        level: the confidence level, between 0 and 1.
        margin: the difference of quality that counts as none, from 0 to below 1.

    Returns:
        A row for each target, in the order of the runs and of their targets.

    Raises:
        ConfigError: there are fewer than two targets.
    """
    runs = list(candidates)
    summaries = [summarise(one.run, level=level) for one in runs]
    costs = [_costs(one) for one in runs]
    places = [(number, target) for number, one in enumerate(runs) for target in one.run.in_order(costs[number])]
    if len(places) < 2:
        raise ConfigError("a comparison of quality, cost and latency needs two targets or more.")
    several = len({number for number, _ in places}) > 1
    names = [_name(runs[number], target, len(costs[number]), several=several) for number, target in places]
    tallies = [summaries[number].by_target.get(target, summaries[number].total) for number, target in places]
    metric = _metric(runs, tallies)
    rows = [
        TradeOff(
            name=name,
            run=runs[number].run.id,
            target=target,
            cost=costs[number][target],
            seconds=tally.seconds_median,
            **_quality(summaries[number], tally, target, metric, level),
        )
        for name, (number, target), tally in zip(names, places, tallies, strict=True)
    ]
    pairs = _differences([one.run for one in runs], places, metric, level, margin)
    adjusted = dict(zip(pairs, adjust_differences([*pairs.values()], holm), strict=True))
    unknown = _unknown(rows)
    return TradeOffs(
        metric=metric,
        direction=_direction(summaries, metric),
        rows=tuple(_with_standing(index, rows, adjusted, unknown) for index in range(len(rows))),
        level=level,
        tests=sum(one.p is not None for one in pairs.values()),
        unknown=unknown,
        differences=adjusted,
    )


def _name(one: Candidate, target: str, targets: int, *, several: bool) -> str:
    """Return the name of the run if it has a single target, of the target if there is a single run."""
    if targets == 1:
        return one.name
    return f"{one.name} {target}" if several else target


def _metric(runs: Sequence[Candidate], tallies: Sequence[TrialCounts]) -> str:
    """Return the first metric that all runs have if outputs of some target cannot pass; empty for the pass rate.

    A target of errors alone does not keep the others from being compared by the pass rate.
    """
    if any(tally.pass_rate.n for tally in tallies) and all(tally.pass_rate.n or not tally.ungated for tally in tallies):
        return VERDICT
    names = [[metric.name for metric in one.run.metrics] for one in runs]
    return next((name for name in names[0] if all(name in others for others in names[1:])), VERDICT)


def _direction(summaries: Iterable[Summary], metric: str) -> Direction:
    """Return which direction of a metric is better."""
    metrics = (one for summary in summaries for one in summary.metrics if one.name == metric and one.scored)
    return next((one.direction for one in metrics), "higher")


def _costs(one: Candidate) -> Mapping[str, TargetCost]:
    collector = CostCollector(one.prices)
    for result in one.run.results:
        collector.add(result)
    return {cost.target: cost for cost in collector.found()}


class _Quality(TypedDict):
    quality: float | None
    interval: Interval
    n: int


def _quality(summary: Summary, tally: TrialCounts, target: str, metric: str, level: float) -> _Quality:
    """Return the pass rate, or the mean of a metric where the target has it for a single dataset."""
    if not metric:
        rate = tally.pass_rate
        return {"quality": rate.value, "interval": rate.interval, "n": rate.n}
    means = [m for group in summary.counted if group.target == target for m in group.metrics if m.name == metric]
    if len(means) == 1 and means[0].scale == "value":
        return {"quality": means[0].mean, "interval": means[0].interval, "n": means[0].n}
    return {"quality": None, "interval": no_interval("several datasets, or no score", level), "n": 0}


def _differences(
    runs: Sequence[Run], places: Sequence[tuple[int, str]], metric: str, level: float, margin: float
) -> dict[tuple[int, int], Difference]:
    """Return the difference of each pair of rows in a metric, without those that have no case with it in common."""
    differences: dict[tuple[int, int], Difference | None] = {}
    for number, run in enumerate(runs):
        rows = [row for row, (of, _) in enumerate(places) if of == number]
        inside = list(combinations(rows, 2))
        names = [(places[row][1], places[other][1]) for row, other in inside]
        found = compare_targets(run, names, metric, level=level, margin=margin) if inside else ()
        differences |= dict(zip(inside, found, strict=True))
    for pair in combinations(range(len(places)), 2):
        (first, target), (second, other) = (places[row] for row in pair)
        if first != second:
            runs_compared = runs[first], runs[second]
            differences[pair] = compare_in_metric(*runs_compared, (target, other), metric, level=level, margin=margin)
    return {pair: difference for pair in sorted(differences) if (difference := differences[pair]) is not None}


def _unknown(rows: Sequence[TradeOff]) -> tuple[Criterion, ...]:
    known: Mapping[Criterion, bool] = {
        "cost": any(row.cost.cost is not None for row in rows),
        "latency": any(row.seconds is not None for row in rows),
    }
    return tuple(criterion for criterion, is_known in known.items() if not is_known)


def _with_standing(
    index: int, rows: Sequence[TradeOff], pairs: Mapping[tuple[int, int], Difference], unknown: Sequence[Criterion]
) -> TradeOff:
    """Return a row with its standing among the others."""
    better, unclear = [], []
    for other, row in enumerate(rows):
        if other == index or not _costs_no_more(row, rows[index], unknown):
            continue
        outcome = _outcome(other, index, pairs)
        if outcome == "better":
            better.append(row.name)
        elif outcome != "worse" and (outcome != "same" or not _costs_no_more(rows[index], row, unknown)):
            unclear.append(row.name)
    if better:
        return replace(rows[index], standing="dominated", others=tuple(better))
    return replace(rows[index], standing="not told apart", others=tuple(unclear)) if unclear else rows[index]


def _outcome(one: int, other: int, pairs: Mapping[tuple[int, int], Difference]) -> str:
    """Return how the quality of one row compares with that of another."""
    if (difference := pairs.get((one, other))) is not None:
        return difference.outcome
    reverse = pairs.get((other, one))
    outcome = "cannot tell" if reverse is None else reverse.outcome
    return {"better": "worse", "worse": "better"}.get(outcome, outcome)


def _costs_no_more(one: TradeOff, other: TradeOff, unknown: Sequence[Criterion]) -> bool:
    """Return whether one target costs no more and takes no longer than another; False where that is not known."""
    compared: Mapping[Criterion, tuple[float | None, float | None]] = {
        "cost": (one.cost.cost, other.cost.cost),
        "latency": (one.seconds, other.seconds),
    }
    return all(
        mine is not None and theirs is not None and mine <= theirs
        for criterion, (mine, theirs) in compared.items()
        if criterion not in unknown
    )
