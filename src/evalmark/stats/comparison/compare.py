"""Compares a run with an earlier one: every target, every metric, and a verdict."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from evalmark.core.case_titles import case_title
from evalmark.core.errors import ConfigError
from evalmark.core.values.run import Run
from evalmark.core.values.score import Direction
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.differences import MARGIN, Clusters, Difference, clustered_difference
from evalmark.stats.inference.intervals import LEVEL
from evalmark.stats.inference.means import mean
from evalmark.stats.inference.missing import JudgedValues, adjust_differences, with_missing
from evalmark.stats.inference.multiple_tests import benjamini_hochberg, holm
from evalmark.stats.summary.clusters import ClusterFinder

from .case_matching import match, with_titles
from .caveats import warnings
from .change import DRAWN, Comparison, Flip, Key, MetricChange, Slice, TargetChange, is_unchanged
from .compared_cases import ComparedCases
from .metric_values import VERDICT, MetricValues, TargetValues, target_values
from .missing_values import MissingValues, missing_values, with_unfinished
from .rule_caveats import rescore_command
from .scoring_rules import align_rules

_NAMED = 10
"""Targets in an error message."""
MOST_SLICES = 200
"""The largest number of tags to compare; rare tags are left out."""


@check_arguments
def compare(
    run: Run,
    baseline: Run,
    *,
    level: float = LEVEL,
    margin: float = MARGIN,
    targets: tuple[str, str] | None = None,
) -> Comparison:
    """Compare a run with an earlier one, case by case and metric by metric.

    Cases are matched by id and content. A case with repeats counts once, by their mean. Pass and fail are tested
    exactly (McNemar), graded scores by sign flips. The p-values are adjusted over all metrics and targets (Holm),
    so many metrics do not raise false alarms. Targets with the same name are compared, or the only ones of both
    runs.

    Args:
        run: The newer run.
        baseline: The earlier run.
        level: The confidence level, between 0 and 1.
        margin: The difference that counts as none, as a share of 1, from 0 to below 1.
        targets: A target of the run and one of the baseline to compare; both runs may then be the same.

    Returns:
        The comparison; its `outcome` is `better`, `worse`, `same` or `cannot tell`.

    Raises:
        ConfigError: `level` or `margin` is out of range.

    >>> from evalmark.core.values.run import Run
    >>> empty = Run(id="1", name="demo", created="2026-01-01T00:00:00Z")
    >>> compare(empty, empty).outcome
    'cannot tell'
    """
    both = _RunPair(run, baseline, (level, margin), targets)
    changes = both.changes()
    return both.comparison(changes, list(_adjusted(changes)))


@check_arguments
def compare_several(
    run: Run, baselines: Sequence[Run], *, level: float = LEVEL, margin: float = MARGIN
) -> tuple[Comparison, ...]:
    """Compare a run with several earlier ones, as one family of tests.

    The p-values are adjusted over all metrics, targets and baselines (Holm 1979), so that looking at several baselines
    does not raise false alarms.

    Args:
        run: the newer run.
        baselines: the earlier runs, at least one.
        level: the confidence level, between 0 and 1.
        margin: the difference that counts as none, as a share of 1, from 0 to below 1.

    Returns:
        A comparison for each baseline, in the order given.

    Raises:
        ConfigError: `level` or `margin` is out of range.

    >>> from evalmark.core.values.run import Run
    >>> empty = Run(id="1", name="demo", created="2026-01-01T00:00:00Z")
    >>> [one.outcome for one in compare_several(empty, [empty, empty])]
    ['cannot tell', 'cannot tell']
    """
    pairs = [_RunPair(run, baseline, (level, margin)) for baseline in baselines]
    changes = [pair.changes() for pair in pairs]
    adjusted = _adjusted([change for of_pair in changes for change in of_pair])
    tests = _tests([change for of_pair in changes for change in of_pair])
    return tuple(
        replace(pair.comparison(one, list(islice(adjusted, len(one)))), tests=tests)
        for pair, one in zip(pairs, changes, strict=True)
    )


@check_arguments
def compare_by_case(
    run: Run,
    baseline: Run,
    *,
    level: float = LEVEL,
    margin: float = MARGIN,
    targets: tuple[str, str] | None = None,
) -> tuple[Comparison, tuple[ComparedCases, ...]]:
    """Compare like `compare`, and also return the values of every common case for each target."""
    both = _RunPair(run, baseline, (level, margin), targets)
    changes = both.changes()
    found = both.comparison(changes, list(_adjusted(changes)))
    return found, tuple(side.cases(change) for side, change in zip(both.sides, found.targets, strict=True))


def compare_targets(
    run: Run, pairs: Sequence[tuple[str, str]], metric: str, *, level: float = LEVEL, margin: float = MARGIN
) -> Iterator[Difference | None]:
    """Compare pairs of targets of one run in one metric, one after the other; None if a pair has no case with it in common.

    The results of the run are read once. P-values are not adjusted yet.
    """
    finder = ClusterFinder(run)
    values, unfinished = target_values(run, finder, metric=metric), _planned_repeats(run)
    for target, against in pairs:
        yield _TargetPair(
            (target, against), values[target], values[against], (level, margin), (unfinished, unfinished), finder
        ).difference(metric)


def compare_in_metric(
    run: Run, baseline: Run, targets: tuple[str, str], metric: str, *, level: float = LEVEL, margin: float = MARGIN
) -> Difference | None:
    """Compare a target of a run with one of another run like `compare_targets`."""
    both = _RunPair(run, baseline, (level, margin), targets, metric)
    return next((side.difference(metric) for side in both.sides), None)


class _RunPair:
    """Two runs, target by target."""

    def __init__(
        self,
        run: Run,
        baseline: Run,
        asked: tuple[float, float],
        targets: tuple[str, str] | None = None,
        metric: str | None = None,
    ) -> None:
        """With `metric`, only its values are read."""
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
        finder = ClusterFinder(baseline, run)
        now = target_values(judged, finder, first, metric)
        before = target_values(against, finder, second, metric)
        self.targets = tuple(now), tuple(before)
        unfinished = _planned_repeats(run), _planned_repeats(baseline)
        self.sides = [
            _TargetPair((target, other), now[target], before[other], asked, unfinished, finder)
            for target, other in _pairs(now, before)
        ]

    def changes(self) -> list[TargetChange]:
        """Return the changes of all targets, with p-values that are not adjusted yet."""
        units = {metric.name: metric.unit for metric in self.run.metrics}
        return [side.whole(units) for side in self.sides]

    def comparison(self, changes: Sequence[TargetChange], adjusted: Sequence[TargetChange]) -> Comparison:
        run, baseline = self.run, self.baseline
        has_common = any(change.matching.common for change in changes)
        return Comparison(
            run=run.id,
            baseline=baseline.id,
            names=(run.name, baseline.name),
            created=(run.created, baseline.created),
            targets=tuple(self._known(*one) for one in zip(self.sides, adjusted, strict=True)),
            tests=_tests(changes),
            warnings=warnings(run, baseline, changes, self.targets, self.rules),
            rules=self.rules,
            rescore=rescore_command(run, baseline, self.rules) if has_common else "",
            level=self.asked[0],
            margin=self.asked[1],
            gate=run.gate,
        )

    def _known(self, side: "_TargetPair", change: TargetChange) -> TargetChange:
        """Add the changed cases. If no metric is compared, identical outputs do not prove identical scores."""
        is_judged = change.metrics or change.overall.difference.n or not self.rules.is_partial
        change = change if is_judged else replace(change, is_identical=False)
        return replace(change, moved=tuple(side.moved(change.deciding)))


def _pairs(now: Iterable[str], before: Iterable[str]) -> list[tuple[str, str]]:
    """Pair targets with the same name, or the only targets of both runs."""
    mine, theirs = list(now), list(before)
    if len(mine) == len(theirs) == 1:
        return [(mine[0], theirs[0])]
    return [(target, target) for target in mine if target in theirs]


def _planned_repeats(run: Run) -> int:
    """Return how many results each case of an unfinished run should have; 0 for a finished run."""
    return 0 if run.status == "complete" else run.repeat


class _TargetPair:
    """One target in both runs; cases are identified by their keys in the run."""

    def __init__(
        self,
        names: tuple[str, str],
        now: TargetValues,
        before: TargetValues,
        asked: tuple[float, float],
        unfinished: tuple[int, int],
        finder: ClusterFinder,
    ) -> None:
        self.names, self.now, self.before = names, now, before
        matched = match(now.cases, before.cases)
        self.pairs, self.matching = matched.pairs, with_titles(matched.matching, (now.asked, before.asked))
        self.expected = with_unfinished(matched, (now, before), unfinished)
        self.level, self.margin = asked
        self.clusters = Clusters(numbers=now.clusters, unit=finder.unit(now.sources.values()))

    def whole(self, units: Mapping[str, str]) -> TargetChange:
        """Compare the target; `units` are those of the metrics."""
        now, before = self.now, self.before
        shared = [name for name in now.metrics if name != VERDICT and name in before.metrics]
        every = [self.change(name, units.get(name, "")) for name in shared]
        found = [change for change in every if change.difference.n or change.is_lost]
        overall = self.change(VERDICT, "")
        return TargetChange(
            target=self.names[0],
            against=self.names[1],
            matching=self.matching,
            overall=overall,
            metrics=tuple(change for change in found if not self.equals_verdict(change)),
            as_overall=tuple(change.name for change in found if self.equals_verdict(change)),
            flips=tuple(self.moved(overall)),
            slices=tuple(self.slices()),
            is_identical=bool(self.pairs)
            and all(now.has_answered(key, before, was) for key, was in self.pairs.items()),
        )

    def difference(self, metric: str) -> Difference | None:
        """Return the difference in one metric; None if both targets do not have it, or only as a copy of the verdict."""
        if metric != VERDICT and not (metric in self.now.metrics and metric in self.before.metrics):
            return None
        change = self.change(metric, "")
        is_new = metric == VERDICT or ((change.difference.n or change.is_lost) and not self.equals_verdict(change))
        answers = self.now.answers
        is_identical = bool(self.pairs) and answers is not None and answers == self.before.answers
        return replace(change.difference, is_identical=is_identical) if is_new else None

    def cases(self, found: TargetChange) -> ComparedCases:
        """Return the values of every metric for each case."""
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
        """Return the change of one metric."""
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
            is_share=name == VERDICT or (not in_units and mine.is_two_valued and theirs.is_two_valued),
            unjudged=(lost.before.unjudged, lost.now.unjudged),
            ordered=_ordered(
                now[key] - before[key] if mine.direction == "higher" else before[key] - now[key] for key in both
            ),
            moved=_moved([(before[key], now[key]) for key in both], mine.direction, in_units=in_units),
        )

    def _columns(self, name: str) -> tuple[MetricValues, MetricValues, bool]:
        """Return the values of a metric in both runs, and whether they have their own unit."""
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
        """Return the difference, positive if the run is better."""
        now, before = (
            JudgedValues(values=known, ranges=side.ranges, missing=side.unjudged.total)
            for known, side in zip(values, (lost.now, lost.before), strict=True)
        )
        first, second = (now, before) if direction == "higher" else (before, now)
        margin = self.margin * _range([*now.values.values(), *before.values.values()]) if in_units else self.margin
        found = clustered_difference(
            self.names, (first.values, second.values), self.clusters, self.level, margin, bounded=not in_units
        )
        return with_missing(found, first, second, self.clusters)

    def equals_verdict(self, change: MetricChange) -> bool:
        """Return whether a metric equals the verdict in every case, so it would be reported twice."""
        return all(
            side.metrics[change.name].values == side.metrics[VERDICT].values and not side.metrics[change.name].valueless
            for side in (self.now, self.before)
        )

    def moved(self, change: MetricChange) -> list[Flip]:
        """Return the cases that changed by a metric beyond rounding, the largest drop first."""
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
        return sorted(found, key=lambda flip: (flip.gain, flip.dataset, case_title(flip.case, flip.asked), flip.case))

    def slices(self) -> list[Slice]:
        """Compare the cases of each tag, the most common tags first; tags of every case are left out."""
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
    """Return how many cases became worse, and how many better."""
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


def _tests(changes: Sequence[TargetChange]) -> int:
    return sum(change.difference.p is not None for target in changes for change in target.changes)


def _adjusted(changes: Sequence[TargetChange]) -> Iterator[TargetChange]:
    """Adjust the p-values over all changes that the verdict depends on."""
    every = [change.difference for target in changes for change in (target.overall, *target.metrics)]
    found = iter(adjust_differences(every, holm))
    for target in changes:
        overall = replace(target.overall, difference=next(found))
        metrics = tuple(replace(change, difference=next(found)) for change in target.metrics)
        yield replace(target, overall=overall, metrics=metrics)


@check_arguments
def two_targets(run: Run, target: str, against: str) -> tuple[str, str]:
    """Return two targets after checking that the run has both; results are read only if its header does not name them.

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
