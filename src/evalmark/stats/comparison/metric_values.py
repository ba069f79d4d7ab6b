"""The numbers of a run, case by case, without texts."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern

from evalmark.core.values.plain_data import canonical, fingerprint
from evalmark.core.values.run import Run
from evalmark.core.values.score import Direction, Mode, Result, Score, Trial
from evalmark.stats.summary.clusters import ClusterFinder
from evalmark.stats.summary.collection import left_out
from evalmark.stats.summary.pareto import own_calls

from .change import Key

_HASHES = 2**61
VERDICT = ""
"""The name of the column for pass or fail."""


@dataclass(slots=True)
class MetricValues:
    """The values of one metric: a list for each case, with an entry for each repeat."""

    direction: Direction = "higher"
    values: dict[Key, list[float]] = field(default_factory=dict)
    """From 0 to 1."""
    raws: dict[Key, list[float]] = field(default_factory=dict)
    """In the scorer's own unit."""
    words: dict[Key, list[str]] = field(default_factory=dict)
    """Labels."""
    scored_trials: dict[Key, int] = field(default_factory=dict)
    """Trials of a case with a score of any status."""
    failed: dict[Key, int] = field(default_factory=dict)
    """Those with an error, or without an output."""
    failed_outputs: dict[Key, int] = field(default_factory=dict)
    """Trials of a case with a score and without an output."""
    skipped: dict[Key, int] = field(default_factory=dict)
    """Trials that the metric skipped or that cannot pass or fail; if that is so in both runs, nothing is missing."""
    valueless: bool = False
    """Whether there is a raw number without a value from 0 to 1; then raw numbers are compared."""

    @property
    def is_two_valued(self) -> bool:
        """Whether every value is 0 or 1."""
        return all(value in (0, 1) for values in self.values.values() for value in values)

    def means(self) -> Mapping[Key, float]:
        """Return the mean of each case over its scored repeats, from 0 to 1."""
        return _means(self.values)

    def raw_means(self) -> Mapping[Key, float]:
        """Return the same in the scorer's own unit."""
        return _means(self.raws)

    def has_same_scores(self, key: Key, other: "MetricValues", was: Key) -> bool:
        """Return whether a case has the same scores as in another run."""
        return all(
            sorted(mine.get(key, ())) == sorted(theirs.get(was, ()))
            for mine, theirs in ((self.values, other.values), (self.raws, other.raws), (self.words, other.words))
        )

    def count(self, key: Key, *, answered: bool, failed: bool) -> None:
        """Count a trial: whether it has an output, and whether its score is an error."""
        for counts, is_one in (
            (self.scored_trials, True),
            (self.failed_outputs, not answered),
            (self.failed, failed or not answered),
        ):
            if is_one:
                counts[key] = counts.get(key, 0) + 1

    def add(self, key: Key, score: Score, *, answered: bool = True) -> None:
        """Add a score. Labels are neither compared nor missing.

        A skipped score is not missing either, unless there was no output.
        """
        raw = _number(score.raw)
        if (score.status == "skipped" and answered) or (
            score.status == "scored" and score.value is None and raw is None
        ):
            _count(self.skipped, key)
        self.count(key, answered=answered, failed=score.status == "error")
        if score.status != "scored":
            return
        # errors and skipped scores do not know the direction
        self.direction = score.direction
        if score.value is not None:
            self.values.setdefault(key, []).append(score.value)
        elif raw is not None:
            self.valueless = True
        if raw is not None:
            self.raws.setdefault(key, []).append(raw)
        elif isinstance(score.raw, str):
            self.words.setdefault(key, []).append(score.raw)

    def add_verdict(self, key: Key, result: Result) -> None:
        """Add whether a trial passes."""
        self.count(key, answered=result.output.error is None, failed=result.verdict == "error")
        if result.verdict in ("pass", "fail"):
            self.values.setdefault(key, []).append(1.0 if result.verdict == "pass" else 0.0)
        elif result.verdict == "ungated":
            _count(self.skipped, key)


@dataclass(slots=True)
class TargetValues:
    """The values of one target of a run."""

    cases: dict[Key, str] = field(default_factory=dict)
    """A fingerprint of each case's content, without its id."""
    trials: dict[Key, int] = field(default_factory=dict)
    """The number of trials of each case."""
    failed: dict[Key, int] = field(default_factory=dict)
    """Trials of a case without an output."""
    tags: dict[Key, tuple[str, ...]] = field(default_factory=dict)
    asked: dict[Key, object] = field(default_factory=dict)
    """The inputs of cases with generated ids."""
    metrics: dict[str, MetricValues] = field(default_factory=dict)
    outputs: dict[Key, list[int]] = field(default_factory=dict)
    """A hash of each output of a case."""
    replies: dict[Key, int] = field(default_factory=dict)
    """A hash of the recorded model calls that produced the outputs of a case; missing without such calls."""
    sources: dict[str, tuple[str, Mode]] = field(default_factory=dict)
    """Maps the first part of a key to its dataset and mode."""
    clusters: dict[Key, int] = field(default_factory=dict)
    """The cluster of each case, see `ClusterFinder`."""
    answers: int | None = 0
    """A hash of all outputs and scores, whatever their order; None where an output is missing. Only for a comparison in one metric."""

    def add(self, result: Result, key: Key, finder: ClusterFinder, metric: str | None = None) -> None:
        """Add a result of the case with this key; with `metric`, only what a comparison in this metric takes."""
        trial = result.trial
        _count(self.trials, key)
        if result.output.error is not None:
            _count(self.failed, key)
        if key not in self.cases:
            self.cases[key] = intern(case_fingerprint(trial))
            self.sources.setdefault(key[0], (trial.dataset, trial.mode))
            self.clusters[key] = finder.find(trial)
            if trial.case.tags and metric is None:
                self.tags[key] = trial.case.tags
            if trial.case.has_generated_id:
                self.asked[key] = trial.case.input
        add_output = self._add_output if metric is None else self._add_answer
        add_output(result, key)
        self.metrics.setdefault(VERDICT, MetricValues()).add_verdict(key, result)
        for score in result.scores:
            if metric in (None, score.name):
                column = self.metrics.setdefault(score.name, MetricValues())
                column.add(key, score, answered=result.output.error is None)

    def _add_output(self, result: Result, key: Key) -> None:
        if result.output.error is None:
            value = result.output.value
            self.outputs.setdefault(key, []).append(hash(value if isinstance(value, str) else canonical(value)))
        if keys := own_calls(result):
            self.replies[key] = hash((self.replies.get(key), keys))

    def _add_answer(self, result: Result, key: Key) -> None:
        if self.answers is None or result.output.error is not None:
            self.answers = None
            return
        value = result.output.value
        output = value if isinstance(value, str) else canonical(value)
        scores = tuple(
            (one.name, one.status, one.value, one.passed, one.raw if isinstance(one.raw, str | int | float) else None)
            for one in result.scores
        )
        self.answers = (self.answers + hash((key, self.cases[key], result.trial.repeat, output, scores))) % _HASHES

    def has_answered(self, key: Key, other: "TargetValues", was: Key) -> bool:
        """Return whether a case has the same outputs and scores as in another run."""
        mine, theirs = self.outputs.get(key), other.outputs.get(was)
        if (
            mine is None
            or theirs is None
            or (len(mine), len(theirs)) != (self.trials[key], other.trials[was])
            or sorted(mine) != sorted(theirs)
            or self.metrics.keys() != other.metrics.keys()
        ):
            return False
        return all(column.has_same_scores(key, other.metrics[name], was) for name, column in self.metrics.items())


def target_values(
    run: Run, finder: ClusterFinder, target: str | None = None, metric: str | None = None
) -> dict[str, TargetValues]:
    """Read the values of each target of a run, or of one, in one pass; trials that do not count for the headline are left out.

    With `metric`, only its values and the verdicts are read.
    """
    found: dict[str, TargetValues] = {}
    keys: dict[Key, Key] = {}  # one object for a case of all targets
    for result in run.results:
        if target not in (None, result.trial.target) or left_out(result.trial.case) is not None:
            continue
        if (columns := found.get(result.trial.target)) is None:
            columns = found[result.trial.target] = TargetValues()
        key = case_key(result.trial)
        columns.add(result, keys.setdefault(key, key), finder, metric)
    return found


def case_key(trial: Trial) -> Key:
    """Return the key of a case; in another mode it is another case."""
    return (trial.dataset if trial.mode == "single" else f"{trial.dataset} ({trial.mode})", trial.case.id)


def case_fingerprint(trial: Trial) -> str:
    """Return the fingerprint of a case's content, without its tags and metadata."""
    case = trial.case
    given = None if case.given is None or trial.target else case.given.value
    return fingerprint(case.input, case.expected, case.examples, case.contexts, case.history, given is None)


def _count(counts: dict[Key, int], key: Key) -> None:
    counts[key] = counts.get(key, 0) + 1


def _means(found: Mapping[Key, list[float]]) -> Mapping[Key, float]:
    return {
        key: numbers[0] if len(numbers) == 1 else math.fsum(numbers) / len(numbers) for key, numbers in found.items()
    }


def _number(raw: object) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, (int, float)):
        return None
    number = float(raw)
    return number if math.isfinite(number) else None
