"""Collects what statistics need of the results of a run, in one pass; keeps numbers and the few worst trials."""

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from evalmark.core.values.case import Case
from evalmark.core.values.run import Gate, Run
from evalmark.core.values.score import Direction, Mode, Result, Score, Trial
from evalmark.scoring.binding.text import text_of

from .clusters import ClusterFinder
from .judge_panel import JudgePanel, judge_panels, number_or_nan
from .steadiness import SteadinessCounts
from .summary import LeftOut, WorstScore

SLACK = 1e-9
"""The tolerance for rounding errors of means."""
VERDICTS = ("pass", "fail", "error", "unscored", "ungated")
"""The verdicts in the order of their numbers in `TrialGroup.verdicts`."""
CHOICES = 50
"""A metric with more different texts than this has free texts, not labels."""
SKIP_REASONS = 5
"""The largest number of reasons for skipped scores that are kept for one metric."""
WORST_TRIALS = 20
"""Trials to review that a summary keeps."""
WORST_SCORES = 5
"""Worst scores kept for each metric."""
TAGS = 100
"""A run whose cases have more different tags than this has no figures by tag: such tags are ids rather than groups."""
REPEAT_BITS = 20
_LONGEST_LABEL, _LONGEST_REASON = 100, 1_000
"""Characters."""
_RANK = {"error": 0, "fail": 1, "unscored": 2, "ungated": 3}
_ABOUT_A_RULE = ("ruleid", "rule")
"""Metadata fields that every prompt test has, possibly as None."""

GroupKey = tuple[str, str, Mode, LeftOut | None]
"""Dataset, target, mode, and why the trials do not count for the headline figure."""


def left_out(case: Case) -> LeftOut | None:
    """Return why the trials of a test do not count for the headline figure; None if they count.

    Excluded are baseline tests, tests with an invalid input, and tests of a rule that the prompt does not
    contain. Only prompt tests, whose metadata have a `rule` or a `ruleid`, can be excluded: in other datasets a
    column `valid` can mean anything.

    >>> left_out(Case(id="1", metadata={"ruleid": 2, "valid": False})), left_out(Case(id="2", metadata={"valid": False}))
    ('invalid', None)
    """
    metadata = case.metadata
    if not any(name in metadata for name in _ABOUT_A_RULE):
        return None
    if metadata.get("baseline") is True or "baseline" in case.tags:
        return "baseline"
    if metadata.get("valid") is False:
        return "invalid"
    return "ungrounded" if metadata.get("grounded") is False else None


@dataclass(slots=True)
class MetricScores:
    """The scores of one metric in one group."""

    direction: Direction
    statuses: Counter[str] = field(default_factory=Counter)
    values: "array[float]" = field(default_factory=lambda: array("d"))
    """NaN marks a gap, here and in `raws`."""
    raws: "array[float] | None" = None
    """None as long as every raw number equals its value."""
    clusters: "array[int]" = field(default_factory=lambda: array("Q"))
    outputs: "array[int]" = field(default_factory=lambda: array("Q"))
    """The position of the case, shifted by `REPEAT_BITS`, and the repeat of each value."""
    passes: "array[int]" = field(default_factory=lambda: array("b"))
    passing_clusters: "array[int]" = field(default_factory=lambda: array("Q"))
    on_failed_outputs: int = 0
    truths: bool = True
    """Whether every score so far was true or false."""
    choices: Counter[str] | None = field(default_factory=Counter)
    """None if the texts are too many or too long to be labels."""
    details: SteadinessCounts = field(default_factory=SteadinessCounts)
    worst: list[tuple[float, int, WorstScore]] = field(default_factory=list)
    """A heap of the worst scores; of equal scores, the first ones."""
    skips: Counter[str] = field(default_factory=Counter)
    """How often scores of outputs without error were skipped, for the first few reasons."""

    def add(self, score: Score, result: Result, cluster: int) -> None:
        self.statuses[score.status] += 1
        if score.detail:
            self.details.add(score, cluster)
        if score.passed is not None:
            self.passes.append(score.passed)
            self.passing_clusters.append(cluster)
        if result.output.error is not None:
            self.on_failed_outputs += 1
        elif score.status == "skipped" and (score.reason in self.skips or len(self.skips) < SKIP_REASONS):
            self.skips[score.reason] += 1
        if score.status != "scored":
            return
        # errors and skipped scores do not know the direction
        self.direction = score.direction
        value = number_or_nan(score.value)
        raw = value if score.raw is score.value else number_or_nan(score.raw)
        if self.raws is None and raw != value and not (math.isnan(raw) and math.isnan(value)):
            self.raws = array("d", self.values)
        self.values.append(value)
        self.clusters.append(cluster)
        self.outputs.append(result.trial.position << REPEAT_BITS | result.trial.repeat)
        if self.raws is not None:
            self.raws.append(raw)
        self.truths = self.truths and isinstance(score.raw, bool) and value in (0.0, 1.0)
        self._count_choice(score.raw)
        self._keep_if_worst(score, result.trial, raw if math.isnan(value) else value)

    def _count_choice(self, raw: object) -> None:
        if self.choices is None or not isinstance(raw, str):
            return
        self.choices[raw[: _LONGEST_LABEL + 1]] += 1
        if len(raw) > _LONGEST_LABEL or len(self.choices) > CHOICES:
            self.choices = None

    def _keep_if_worst(self, score: Score, trial: Trial, number: float) -> None:
        badness = -number if score.direction == "higher" else number
        perfect = score.value is not None and score.value == (score.direction == "higher")
        if perfect or math.isnan(badness):
            return
        if len(self.worst) == WORST_SCORES and badness <= self.worst[0][0]:
            return
        _push(self.worst, (badness, -len(self.values), _worst_score(score, trial)), WORST_SCORES)

    def worst_first(self) -> tuple[WorstScore, ...]:
        return tuple(entry[-1] for entry in sorted(self.worst, key=itemgetter(0, 1), reverse=True))


def _worst_score(score: Score, trial: Trial) -> WorstScore:
    is_shown = isinstance(score.raw, (int, float)) or (isinstance(score.raw, str) and len(score.raw) <= _LONGEST_LABEL)
    return WorstScore(
        case=trial.case.id,
        position=trial.position,
        repeat=trial.repeat,
        raw=score.raw if is_shown else None,
        value=score.value if score.value is not None and math.isfinite(score.value) else None,
        passed=score.passed,
        reason=score.reason[:_LONGEST_REASON],
        asked=text_of(trial.case.input)[:_LONGEST_LABEL] if trial.case.has_generated_id else "",
    )


def add_scores(
    metrics: dict[str, MetricScores], result: Result, cluster: int, without: Collection[str] = frozenset()
) -> None:
    """Add the scores of a result to those of their metrics, except for the metrics `without`."""
    for score in result.scores:
        if score.name in without:
            continue
        if (scores := metrics.get(score.name)) is None:
            scores = metrics[score.name] = MetricScores(score.direction)
        scores.add(score, result, cluster)


@dataclass(slots=True)
class TrialGroup:
    """All trials with the same dataset, target and mode that count for the headline figure, or do not."""

    verdicts: "array[int]" = field(default_factory=lambda: array("b"))
    cases: "array[int]" = field(default_factory=lambda: array("Q"))
    """One number for each case of the run, the same in all groups."""
    clusters: "array[int]" = field(default_factory=lambda: array("Q"))
    """The cluster of each trial, see `ClusterFinder`."""
    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    waited: "array[float]" = field(default_factory=lambda: array("d"))
    repeated: bool = False
    failed_outputs: int = 0
    metrics: dict[str, MetricScores] = field(default_factory=dict)

    def add(self, result: Result, case: int, cluster: int) -> None:
        self.count(result, case, cluster)
        add_scores(self.metrics, result, cluster)

    def count(self, result: Result, case: int, cluster: int) -> None:
        """Add a result without its scores."""
        output = result.output
        self.verdicts.append(VERDICTS.index(result.verdict))
        self.cases.append(case)
        self.clusters.append(cluster)
        self.repeated = self.repeated or result.trial.repeat > 0
        self.failed_outputs += output.error is not None
        if output.seconds is not None and math.isfinite(output.seconds):
            self.seconds.append(output.seconds)
        if output.waited is not None and math.isfinite(output.waited):
            self.waited.append(output.waited)


@dataclass(slots=True)
class TrialsToReview:
    """The few worst trials of a run, and those furthest below each mean that the gate requires."""

    limit: int
    gate: Gate
    bases: Mapping[str, str]
    """The names of metrics without their judges."""
    seen: int = 0
    worst: list[tuple[int, float, int, Result]] = field(default_factory=list)
    below: dict[str, list[tuple[float, int, Result]]] = field(default_factory=dict)
    """By metric."""

    def add(self, result: Result) -> None:
        self.seen += 1  # keeps the order of the run among equals
        if not self.limit:
            return
        if (verdict := result.verdict) != "pass":
            goodness = _goodness(result, failed=verdict == "fail")
            if verdict != "ungated" or goodness != 1:
                # negated, so that the heap drops the best of the worst
                _push(self.worst, (-_RANK[verdict], -goodness, -self.seen, result), self.limit)
        if self.gate.min_score is None and not self.gate.thresholds:
            return
        for score in result.scores:
            shortfall = self._shortfall(score)
            if shortfall is not None and shortfall > SLACK:
                _push(self.below.setdefault(score.name, []), (shortfall, -self.seen, result), self.limit)

    def _shortfall(self, score: Score) -> float | None:
        """Return how much worse a score is than the required mean of its metric; None if none is required."""
        number = score.raw if score.value is None else score.value
        if score.status != "scored" or not isinstance(number, (int, float)):
            return None
        limits = self.gate.thresholds
        needed = limits.get(score.name, limits.get(self.bases.get(score.name, ""), None))
        if needed is None and score.direction == "higher" and score.value is not None:
            needed = self.gate.min_score
        if needed is None:
            return None
        return number - needed if score.direction == "lower" else needed - number

    def replace_results(self, change: Callable[[Result], Result]) -> None:
        """Replace each trial; their order stays the same."""
        self.worst = [(rank, good, number, change(result)) for rank, good, number, result in self.worst]
        self.below = {
            name: [(shortfall, number, change(result)) for shortfall, number, result in heap]
            for name, heap in self.below.items()
        }

    def in_order(self, missed: Iterable[str], *, trials_decide: bool) -> tuple[Result, ...]:
        """Return the trials to review first.

        These are trials below a `missed` mean, unless failed trials already fail the gate.
        """
        worst = [entry[-2:] for entry in sorted(self.worst, key=itemgetter(0, 1, 2), reverse=True)]
        heaps = (sorted(self.below.get(name, ()), key=itemgetter(0, 1), reverse=True) for name in missed)
        below = [entry[-2:] for heap in heaps for entry in heap]
        rest = [entry for entry in worst if entry[1].verdict == "ungated"]
        failed = [entry for entry in worst if entry[1].verdict != "ungated"]
        order = (failed, below, rest) if trials_decide else (below, failed, rest)
        return tuple({number: result for part in order for number, result in part}.values())[: self.limit]


def _push(heap: list[Any], entry: tuple[Any, ...], limit: int) -> None:
    if len(heap) < limit:
        heapq.heappush(heap, entry)
    else:
        heapq.heappushpop(heap, entry)


def _goodness(result: Result, *, failed: bool) -> float:
    """Return the worst failed score from 0 to 1; without one, the least support, or the mean of all scores."""
    values = [(s, s.value if s.direction == "higher" else 1 - s.value) for s in result.scores if s.value is not None]
    if failed:
        return min((value for score, value in values if score.passed is False), default=0)
    if (support := _least_support(result.scores)) is not None:
        return support
    return math.fsum(value for _, value in values) / len(values) if values else 0


def _least_support(scores: Sequence[Score]) -> float | None:
    """Return the lowest similarity of a sentence to its closest context; None without sentence comparisons.

    For ungated trials it separates bad outputs from good ones better than the mean of all scores;
    `examples/rag/by_kind.py` measures that.
    """
    rows = [row for score in scores for row in score.detail.get("sentences", ()) if isinstance(row, Mapping)]
    found = [row.get("similarity") for row in rows]
    return min((number for number in found if isinstance(number, float)), default=None)


@dataclass(slots=True)
class CollectedResults:
    """What was collected of all results of a run."""

    review: TrialsToReview
    panels: Sequence[JudgePanel]
    finder: ClusterFinder
    groups: dict[GroupKey, TrialGroup] = field(default_factory=dict)
    datasets: dict[str, int] = field(default_factory=dict)
    """The number of each dataset, in the order of the results."""
    tagged: dict[str, dict[GroupKey, TrialGroup]] | None = field(default_factory=dict)
    """The counting trials of each tag, without their scores; None if there are too many tags."""

    def add(self, result: Result) -> None:
        trial, why = result.trial, left_out(result.trial.case)
        case = self.datasets.setdefault(trial.dataset, len(self.datasets)) << 40 | trial.position
        cluster = self.finder.find(trial)
        key = (trial.dataset, trial.target, trial.mode, why)
        if (group := self.groups.get(key)) is None:
            group = self.groups[key] = TrialGroup()
        group.add(result, case, cluster)
        if why is None:
            self.review.add(result)
            self._count_tags(result, key, case, cluster)
        for panel in self.panels:
            panel.add(result.scores, cluster)

    def _count_tags(self, result: Result, key: GroupKey, case: int, cluster: int) -> None:
        for name in dict.fromkeys(result.trial.case.tags):
            if self.tagged is None:
                return
            tag = name.encode(errors="replace").decode()  # a stored summary is JSON, which has no lone surrogates
            self.tagged.setdefault(tag, {}).setdefault(key, TrialGroup()).count(result, case, cluster)
            if len(self.tagged) > TAGS:
                self.tagged = None


def empty_collection(run: Run, worst: int) -> CollectedResults:
    """Return a collection for the results of a run; `worst` is the number of trials to review that are kept."""
    bases = {metric.name: metric.base for metric in run.metrics if metric.base}
    review = TrialsToReview(worst, run.gate or Gate(), bases)
    return CollectedResults(review, judge_panels(run.metrics), ClusterFinder(run))


def collect(run: Run, worst: int) -> CollectedResults:
    """Read all results of a run once; `worst` is the number of trials to review that are kept."""
    collected = empty_collection(run, worst)
    for result in run.results:
        collected.add(result)
    return collected
