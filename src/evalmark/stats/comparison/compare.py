"""Compare a run with an earlier one: every target, every metric, and a verdict."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from evalmark.core.errors import ConfigError
from evalmark.core.values.run import Run
from evalmark.core.values.score import Direction
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.differences import MARGIN, Difference, difference
from evalmark.stats.inference.intervals import LEVEL
from evalmark.stats.inference.means import mean
from evalmark.stats.inference.missing import JudgedValues, adjust_differences, with_missing
from evalmark.stats.inference.multiple_tests import benjamini_hochberg, holm

from .case_matching import match
from .caveats import warnings
from .change import DRAWN, Comparison, Flip, Key, MetricChange, Slice, TargetChange, is_unchanged
from .compared_cases import ComparedCases
from .metric_values import VERDICT, MetricValues, TargetValues, target_values
from .missing_values import MissingValues, missing_values, with_unfinished
from .rule_caveats import rescore_command
from .scoring_rules import align_rules

_NAMED = 10
"""Targets that a fault names."""
MOST_SLICES = 200
"""Tags beyond these are not compared, the rarest first."""


@check_arguments
def compare(
    run: Run,
    baseline: Run,
    *,
    level: float = LEVEL,
    margin: float = MARGIN,
    targets: tuple[str, str] | None = None,
) -> Comparison:
    """Whether a run is better or worse than an earlier one, case by case and metric by metric.

    Cases are matched by id and content; a case with repeats counts once, by their mean. Pass and fail are tested exactly
    (McNemar), graded scores by flipping signs; p is adjusted over all metrics and targets (Holm), so that many metrics do not
    cry wolf. Within `margin`, a share of 1, a difference counts as none.

    Targets of the same name are compared, and those of runs that have one each. With `targets` it is one of the run and one of
    the baseline, which may then be the same run.

    Raises:
        ConfigError: `level` or `margin` is none, or neither run has a result.
    """
    return _RunPair(run, baseline, (level, margin), targets).comparison()


@check_arguments
def compare_by_case(
    run: Run,
    baseline: Run,
    *,
    level: float = LEVEL,
    margin: float = MARGIN,
    targets: tuple[str, str] | None = None,
) -> tuple[Comparison, tuple[ComparedCases, ...]]:
    """The same, and for each target what the metrics said of every case that both runs have. Raises what `compare` does."""
    both = _RunPair(run, baseline, (level, margin), targets)
    found = both.comparison()
    return found, tuple(side.cases(change) for side, change in zip(both.sides, found.targets, strict=True))


class _RunPair:
    """Two runs, target by target."""

    def __init__(
        self, run: Run, baseline: Run, asked: tuple[float, float], targets: tuple[str, str] | None = None
    ) -> None:
        level, margin = self.asked = asked
        if not 0 < level < 1 or not 0 <= margin < 1:
            raise ConfigError(
                f"compare: the level is {level!r} and the margin {margin!r}; the level has to lie between 0 and 1, "
                "the margin from 0 to below 1."
            )
        self.run, self.baseline = run, baseline
        first, second = targets or (None, None)
        self.rules = align_rules(run, baseline)
        judged, against = self.rules.runs(run, baseline)
        now, before = target_values(judged, first), target_values(against, second)
        self.targets = tuple(now), tuple(before)
        unfinished = _asked(run), _asked(baseline)
        self.sides = [
            _TargetPair((target, other), now[target], before[other], asked, unfinished)
            for target, other in _pairs(now, before)
        ]

    def comparison(self) -> Comparison:
        run, baseline = self.run, self.baseline
        units = {metric.name: metric.unit for metric in run.metrics}
        changes = [side.whole(units) for side in self.sides]
        has_common = any(change.matching.common for change in changes)
        return Comparison(
            run=run.id,
            baseline=baseline.id,
            names=(run.name, baseline.name),
            created=(run.created, baseline.created),
            targets=tuple(self._known(*one) for one in zip(self.sides, _adjusted(changes), strict=True)),
            warnings=warnings(run, baseline, changes, self.targets, self.rules),
            rules=self.rules,
            rescore=rescore_command(run, baseline, self.rules) if has_common else "",
            level=self.asked[0],
            margin=self.asked[1],
        )

    def _known(self, side: "_TargetPair", change: TargetChange) -> TargetChange:
        """The change with its cases; without a metric that is compared, outputs that are the same say nothing of scores."""
        is_judged = change.metrics or change.overall.difference.n or not self.rules.is_partial
        change = change if is_judged else replace(change, is_identical=False)
        return replace(change, moved=tuple(side.moved(change.deciding)))


def _pairs(now: Iterable[str], before: Iterable[str]) -> list[tuple[str, str]]:
    """Targets of the same name; where each run has only one, these two."""
    mine, theirs = list(now), list(before)
    if len(mine) == len(theirs) == 1:
        return [(mine[0], theirs[0])]
    return [(target, target) for target in mine if target in theirs]


def _asked(run: Run) -> int:
    """How many results of each case a run would have that has not come to its end; 0 for one that has."""
    return 0 if run.status == "complete" else run.repeat


class _TargetPair:
    """One target in both runs; cases go by their keys in the run."""

    def __init__(
        self,
        names: tuple[str, str],
        now: TargetValues,
        before: TargetValues,
        asked: tuple[float, float],
        unfinished: tuple[int, int],
    ) -> None:
        self.names, self.now, self.before = names, now, before
        matched = match(now.cases, before.cases)
        self.pairs, self.matching = matched.pairs, matched.matching
        self.expected = with_unfinished(matched, (now, before), unfinished)
        self.level, self.margin = asked

    def whole(self, units: Mapping[str, str]) -> TargetChange:
        """What became of the target; `units` are those of the metrics."""
        now, before = self.now, self.before
        shared = [name for name in now.metrics if name != VERDICT and name in before.metrics]
        found = [self.change(name, units.get(name, "")) for name in shared]
        overall = self.change(VERDICT, "")
        return TargetChange(
            target=self.names[0],
            against=self.names[1],
            matching=self.matching,
            overall=overall,
            metrics=tuple(c for c in found if (c.difference.n or c.is_lost) and not self.tells_the_same(c)),
            flips=tuple(self.moved(overall)),
            slices=tuple(self.slices()),
            is_identical=bool(self.pairs)
            and all(now.has_answered(key, before, was) for key, was in self.pairs.items()),
        )

    def cases(self, found: TargetChange) -> ComparedCases:
        """What every metric of a change said of each case."""
        values = []
        for change in found.changes:
            mine, theirs, in_units = self._columns(change.name)
            now, before = self._both(mine, theirs, in_units)
            values.append(
                tuple((before[key], now[key]) if key in now and key in before else None for key in self.pairs)
            )
        return ComparedCases(
            change=found,
            pairs=tuple(self.pairs.items()),
            values=tuple(values),
            sources=(self.now.sources, self.before.sources),
        )

    def change(self, name: str, unit: str) -> MetricChange:
        """How a metric changed."""
        mine, theirs, in_units = self._columns(name)
        now, before = self._both(mine, theirs, in_units)
        both = [key for key in now if key in before]
        lost = self._lost(mine, theirs, in_units)
        old, new = mean([before[key] for key in both]), mean([now[key] for key in both])
        return MetricChange(
            name=name,
            difference=replace(self._difference((now, before), lost, mine.direction, in_units), metric=name),
            before=old,
            now=new,
            direction=mine.direction,
            unit=(unit or "in its own unit") if in_units else "",
            unjudged=(lost.before.unjudged, lost.now.unjudged),
            ordered=_ordered(
                now[key] - before[key] if mine.direction == "higher" else before[key] - now[key] for key in both
            ),
            moved=_moved([(before[key], now[key]) for key in both], mine.direction, in_units=in_units),
        )

    def _columns(self, name: str) -> tuple[MetricValues, MetricValues, bool]:
        """Both columns of a metric, and whether its numbers have a unit of their own."""
        mine, theirs = (side.metrics.get(name) or MetricValues() for side in (self.now, self.before))
        return mine, theirs, mine.valueless or theirs.valueless

    def _lost(self, mine: MetricValues, theirs: MetricValues, in_units: bool) -> MissingValues:
        return missing_values(self.expected, (self.now, mine), (self.before, theirs), in_units=in_units)

    def _both(
        self, mine: MetricValues, theirs: MetricValues, in_units: bool
    ) -> tuple[dict[Key, float], dict[Key, float]]:
        now = mine.raw_means() if in_units else mine.means()
        before = theirs.raw_means() if in_units else theirs.means()
        return (
            {key: now[key] for key in self.expected if key in now},
            {key: before[old] for key, old in self.expected.items() if old in before},
        )

    def _difference(
        self,
        values: tuple[Mapping[Key, float], Mapping[Key, float]],
        lost: MissingValues,
        direction: Direction,
        in_units: bool,
    ) -> Difference:
        """Above 0 the run does better, whichever way is better for the metric."""
        now, before = (
            JudgedValues(values=known, ranges=side.ranges, missing=side.unjudged.total)
            for known, side in zip(values, (lost.now, lost.before), strict=True)
        )
        first, second = (now, before) if direction == "higher" else (before, now)
        margin = self.margin * _range([*now.values.values(), *before.values.values()]) if in_units else self.margin
        found = difference(self.names, first.values, second.values, self.level, margin, bounded=not in_units)
        return with_missing(found, first, second)

    def tells_the_same(self, change: MetricChange) -> bool:
        """Whether a metric passes and fails on the very cases that the verdict does, so that it would be told twice."""
        return all(
            side.metrics[change.name].values == side.metrics[VERDICT].values and not side.metrics[change.name].valueless
            for side in (self.now, self.before)
        )

    def moved(self, change: MetricChange) -> list[Flip]:
        """The cases that came out otherwise by a change, the largest drop first; what is the same within rounding did not."""
        mine, theirs, in_units = self._columns(change.name)
        now, before = self._both(mine, theirs, in_units)
        found = [
            Flip(
                dataset=key[0],
                case=key[1],
                target=self.names[0],
                before=before[key],
                now=now[key],
                was=self.pairs[key],
                asked=self.now.asked.get(key),
                metric=change.name,
                direction=change.direction,
                unit=change.unit,
                is_share=change.is_share,
            )
            for key in now
            if key in before and not is_unchanged(before[key], now[key], in_units=in_units)
        ]
        return sorted(found, key=lambda flip: (flip.gain, flip.dataset, flip.case))

    def slices(self) -> list[Slice]:
        """The cases of each tag by themselves, the most common tags first; none where every case has the same tags."""
        tagged: defaultdict[str, list[Key]] = defaultdict(list)
        for key in self.pairs:
            for tag in dict.fromkeys(self.now.tags.get(key, ())):
                tagged[tag].append(key)
        mine, theirs, _ = self._columns(VERDICT)
        values, lost = self._both(mine, theirs, in_units=False), self._lost(mine, theirs, in_units=False)
        common = sorted(tagged, key=lambda tag: (-len(tagged[tag]), tag))[:MOST_SLICES]
        found = []
        for tag in common:
            keys = tagged[tag]
            now, before = ({key: side[key] for key in keys if key in side} for side in values)
            one = self._difference((now, before), lost.of(keys), "higher", in_units=False)
            if one.n > 0 and len(keys) < len(self.pairs):
                found.append(Slice(tag=tag, difference=one))
        differences = adjust_differences([one.difference for one in found], benjamini_hochberg)
        return [replace(one, difference=new) for one, new in zip(found, differences, strict=True)]


def _moved(values: Sequence[tuple[float, float]], direction: Direction, *, in_units: bool) -> tuple[int, int]:
    """How many cases did worse, and how many better, of what was said before and now."""
    moved = [now > before for before, now in values if not is_unchanged(before, now, in_units=in_units)]
    rose = sum(moved)
    return (len(moved) - rose, rose) if direction == "higher" else (rose, len(moved) - rose)


def _ordered(differences: Iterable[float]) -> tuple[float, ...]:
    found = sorted(differences)
    if len(found) <= DRAWN:
        return tuple(found)
    return tuple(found[round(place * (len(found) - 1) / (DRAWN - 1))] for place in range(DRAWN))


def _range(numbers: Sequence[float]) -> float:
    return max(numbers, default=0.0) - min(numbers, default=0.0)


def _adjusted(changes: Sequence[TargetChange]) -> Iterable[TargetChange]:
    """With every p adjusted over all that the verdict rests on."""
    every = [change.difference for target in changes for change in (target.overall, *target.metrics)]
    found = iter(adjust_differences(every, holm))
    for target in changes:
        overall = replace(target.overall, difference=next(found))
        metrics = tuple(replace(change, difference=next(found)) for change in target.metrics)
        yield replace(target, overall=overall, metrics=metrics)


@check_arguments
def two_targets(run: Run, target: str, against: str) -> tuple[str, str]:
    """The two, where the run has both; results are read only where its header does not say so.

    Raises:
        ConfigError: the run has no such target, or both are the same.
    """
    if target == against:
        raise ConfigError(f"compare: --target and --against are both {target!r}; name two targets of {run.id}.")
    wanted, known = (target, against), run.target.split(", ")
    if not set(wanted) <= set(known):
        known = list(dict.fromkeys(result.trial.target for result in run.results))
    missing = [name for name in wanted if name not in known]
    if missing:
        called = " and no target ".join(map(repr, missing))
        raise ConfigError(f"compare: {run.id} has no target {called}; {_there_are(known)}.")
    return wanted


def _there_are(known: Sequence[str]) -> str:
    if not known:
        return "it has no result"
    more = f" and {len(known) - _NAMED:,} more" if len(known) > _NAMED else ""
    return f"it has {', '.join(map(repr, known[:_NAMED]))}{more}"
