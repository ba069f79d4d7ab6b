"""Counts the missing values on both sides of a comparison, repeat by repeat."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from .case_matching import MatchedCases
from .change import Key, Unjudged
from .metric_values import VERDICT, MetricValues, TargetValues

Counts = Mapping[Key, tuple[int, int, int]]
"""For each case: errors, unscored trials, and all trials that should have a score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingSide:
    """What is missing in one of the runs; cases are identified by their keys in the newer run."""

    counts: Counts
    ranges: Mapping[Key, tuple[float, float]] = field(default_factory=dict)
    """The lowest and highest possible mean of each case with missing values, from 0 to 1."""

    @property
    def unjudged(self) -> Unjudged:
        errors, unscored, of = (sum(counts[place] for counts in self.counts.values()) for place in range(3))
        return Unjudged(errors=errors, unscored=unscored, of=of)

    def of(self, keys: Collection[Key]) -> "MissingSide":
        """Return the same for some of the cases."""
        return MissingSide(
            counts={key: self.counts[key] for key in keys if key in self.counts},
            ranges={key: self.ranges[key] for key in keys if key in self.ranges},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingValues:
    """The missing values of a metric in the run and in the baseline."""

    now: MissingSide
    before: MissingSide

    def of(self, keys: Collection[Key]) -> "MissingValues":
        """Return the same for some of the cases."""
        return MissingValues(now=self.now.of(keys), before=self.before.of(keys))


def missing_values(
    pairs: Mapping[Key, Key],
    now: tuple[TargetValues, MetricValues],
    before: tuple[TargetValues, MetricValues],
    *,
    in_units: bool,
) -> MissingValues:
    """Find the missing values of a metric in both runs; `pairs` maps cases of the run to those of the baseline.

    A metric should score every trial of a case that it did not skip. If it has no score of a case, it was not
    asked in either run, unless it scored the case in the other run, or there was no output. A trial that it
    skipped in one run only is missing. A dataset whose outputs it all skipped in both runs has no missing values, even
    where a case has no output.
    """
    is_verdict = now[0].metrics.get(VERDICT) is now[1]
    idle = (_ungated_datasets if is_verdict else _idle_datasets)(pairs, now[1], before[1])
    datasets = {key[0] for key in now[1].scored_trials} | {
        key[0] for key, was in pairs.items() if was in before[1].scored_trials
    }
    mine: dict[Key, tuple[int, int, int]] = {}
    theirs: dict[Key, tuple[int, int, int]] = {}
    for key, was in pairs.items():
        if key[0] in idle:
            continue
        one, other = _CaseValues(*now, key), _CaseValues(*before, was)
        for found, side, beside in ((mine, one, other), (theirs, other, one)):
            if (counts := side.counts(beside, in_dataset=key[0] in datasets, in_units=in_units)) is not None:
                found[key] = counts
    return MissingValues(
        now=MissingSide(counts=mine, ranges={} if in_units else _ranges(mine, now[1], {key: key for key in mine})),
        before=MissingSide(counts=theirs, ranges={} if in_units else _ranges(theirs, before[1], pairs)),
    )


def _idle_datasets(pairs: Mapping[Key, Key], now: MetricValues, before: MetricValues) -> Collection[str]:
    """Return the datasets in which the metric skipped every output of both runs, and skipped one at all."""
    answered, skipped = Counter[str](), Counter[str]()
    for key, was in pairs.items():
        for column, place in ((now, key), (before, was)):
            answered[key[0]] += column.scored_trials.get(place, 0) - column.failed_outputs.get(place, 0)
            skipped[key[0]] += column.skipped.get(place, 0)
    return [dataset for dataset, n in skipped.items() if n and n == answered[dataset]]


def _ungated_datasets(pairs: Mapping[Key, Key], now: MetricValues, before: MetricValues) -> Collection[str]:
    """Return the datasets in which no trial of either run passed or failed, and some could not.

    A trial that was not scored has the verdict `unscored` or `error`, whether its scores have thresholds or not.
    """
    judged, ungated = set[str](), set[str]()
    for key, was in pairs.items():
        for column, place in ((now, key), (before, was)):
            judged |= {key[0]} if column.values.get(place) else set()
            ungated |= {key[0]} if column.skipped.get(place) else set()
    return ungated - judged


def with_unfinished(
    matched: MatchedCases, sides: tuple[TargetValues, TargetValues], unfinished: tuple[int, int]
) -> Mapping[Key, Key]:
    """Add the cases and repeats that an unfinished run did not reach.

    An interrupted run lacks the slowest cases, which may be those that fail; so they count as missing.
    `unfinished` is the planned number of results of each case, in the run and in the baseline; 0 if finished.
    """
    (now, before), (of_run, of_baseline) = sides, unfinished
    pairs, edited = dict(matched.pairs), set(matched.matching.edited)
    if of_run:
        taken = set(matched.pairs.values())
        pairs |= {key: key for key in before.cases if key not in taken and key[1] not in edited}
    if of_baseline:
        pairs |= {key: key for key in now.cases if key not in matched.pairs and key[1] not in edited}
    for trials, keys, of in ((now.trials, pairs, of_run), (before.trials, pairs.values(), of_baseline)):
        trials.update({key: max(of, trials.get(key, 0)) for key in keys} if of else {})
    return pairs


@dataclass(frozen=True, slots=True)
class _CaseValues:
    """One case in the values of a metric."""

    columns: TargetValues
    column: MetricValues
    key: Key

    @property
    def is_not_asked(self) -> bool:
        """Whether the metric skipped every trial."""
        return self.column.skipped.get(self.key, 0) == self.columns.trials[self.key]

    @property
    def is_told(self) -> bool:
        return self.key in self.column.scored_trials

    @property
    def has_no_output(self) -> bool:
        return self.columns.failed.get(self.key, 0) == self.columns.trials[self.key]

    def counts(self, other: "_CaseValues", *, in_dataset: bool, in_units: bool) -> tuple[int, int, int] | None:
        """Return errors, unscored trials, and all that should have a score; None if none should."""
        judged, column, key = self._judged(in_units=in_units), self.column, self.key
        if not judged and not self._should_judge(other, in_dataset=in_dataset, in_units=in_units):
            return None
        of = max(judged, self.columns.trials[key] - self._excused(other))
        silent = self.columns.failed.get(key, 0) - column.failed_outputs.get(key, 0)
        errors = min(of - judged, column.failed.get(key, 0) + silent)
        return errors, of - judged - errors, of

    def _judged(self, *, in_units: bool) -> int:
        values = self.column.raws if in_units else self.column.values
        return len(values.get(self.key, ()))

    def _excused(self, other: "_CaseValues") -> int:
        """Return the number of trials that were legitimately skipped: at most the same share as in the other run.

        A trial that is skipped here and scored there is missing, since the output may have caused it.
        """
        skipped, of = other.column.skipped.get(other.key, 0), other.columns.trials[other.key]
        return min(self.column.skipped.get(self.key, 0), -(-skipped * self.columns.trials[self.key] // of))

    def _should_judge(self, other: "_CaseValues", *, in_dataset: bool, in_units: bool) -> bool:
        if self.is_not_asked or other.is_not_asked:
            return bool(other._judged(in_units=in_units))
        return self.is_told or other.is_told or (in_dataset and self.has_no_output and other.has_no_output)


def _ranges(counts: Counts, column: MetricValues, keys: Mapping[Key, Key]) -> dict[Key, tuple[float, float]]:
    found = {}
    for key, (errors, unscored, of) in counts.items():
        if missing := errors + unscored:
            total = sum(column.values.get(keys[key], ()))
            found[key] = total / of, min(1.0, (total + missing) / of)
    return found
