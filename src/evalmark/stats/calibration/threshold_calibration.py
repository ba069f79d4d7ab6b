"""Learns thresholds of metrics from scores and labels."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Literal

from evalmark.core.errors import ConfigError
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Result, Score, Trial
from evalmark.scoring.binding.scores import fails_at_any_threshold
from evalmark.stats.agreement.threshold_learning import LearnedThreshold, learn_threshold, too_few_bad_message
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL
from evalmark.stats.inference.shift import ScoreDistribution, score_distribution

from .audit_results import UNLIKELY
from .evidence import LabelEvidence, cluster_of
from .label_choice import random_labels

MAX_FALSE_PASS = 0.05
BARRED = -1.0
"""The score of an output that fails at any threshold; lower than every other score."""
Kind = Literal["project", "run", "file"]
CASE = "case"


@dataclass(frozen=True, slots=True, kw_only=True)
class FalsePassLimit:
    """The guarantee for every threshold."""

    max_false_pass: float = MAX_FALSE_PASS
    """The largest allowed share of bad cases that pass."""
    level: float = LEVEL
    """The confidence level, of all metrics together."""

    def __post_init__(self) -> None:
        for flag, value in (("--max-false-pass", self.max_false_pass), ("--level", self.level)):
            if not 0 < value < 1:
                raise ConfigError(f"{flag} is {value:g}; it has to be between 0 and 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedMetric:
    """The learned threshold of one metric."""

    metric: Metric
    learned: LearnedThreshold
    liked: tuple[float, ...]
    """The scores of liked outputs, from 0 to 1."""
    disliked: tuple[float, ...]
    barred: tuple[int, int] = (0, 0)
    """Liked and disliked outputs that fail at any threshold; they are not in the lists of scores."""
    unscored: int = 0
    """Labelled outputs without a score."""
    alone: int = 0
    """Those without another labelled answer to the same input, so that there was nothing to compare with."""
    one_sided: int = 0
    """Outputs that were compared with disliked answers only."""
    embedder: str = ""
    """The fingerprint of the embedding model, if the run used one."""
    scores: ScoreDistribution | None = None
    """The scores that later ones are compared with: of all outputs of the run, or of the labelled outputs."""
    is_random: bool = False
    """Whether the labels are known to be random: evalmark drew their outputs, or there are no others."""
    set_aside: int = 0
    """Labels that are not used, because the outputs were chosen and score otherwise than the others."""
    unit: str = CASE
    """What the guarantee counts: `case`, or the name of a cluster of cases, such as `document`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Learned thresholds, and the labels they were learned from."""

    kind: Kind
    name: str
    """The name of the project, the run or the file."""
    limit: FalsePassLimit
    evidence: LabelEvidence
    metrics: tuple[CalibratedMetric, ...]
    run: str = ""
    """The id of the run that holds the scores."""

    @property
    def level_each(self) -> float:
        """The confidence level of each threshold, so that all hold together."""
        return split_level(self.limit.level, len(self.metrics))

    @property
    def is_kept(self) -> bool:
        """Whether every metric has a threshold."""
        return bool(self.metrics) and all(one.learned.threshold is not None for one in self.metrics)


@check_arguments
def split_level(level: float, several: int) -> float:
    """Return the level of each of several statements that hold together at `level` (Bonferroni).

    >>> round(split_level(0.95, 2), 4), split_level(0.9, 1)
    (0.975, 0.9)
    """
    return level if several < 2 else 1 - (1 - level) / several


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationScores:
    """The scores of a run that thresholds are learned from."""

    run: str
    metrics: tuple[Metric, ...]
    scores: Mapping[tuple[str, str], Score]
    """By the key of the output and the name of the metric."""
    examples: Mapping[str, tuple[bool, bool]]
    """By the key of the output: whether it had a liked and a disliked example."""
    clusters: Mapping[str, str]
    """By the key of the output: its case, or the cluster that its case belongs to."""
    embedder: str = ""
    unit: str = CASE
    """The name of a cluster; `case` if cases are independent."""


def input_name(trial: Trial) -> str:
    """Return the name of the input of a trial."""
    return cluster_of(trial.case.input)


@check_arguments
def calibration_scores(
    results: Iterable[Result],
    metrics: Sequence[Metric],
    *,
    by_case: bool,
    run: str,
    embedder: str,
    cluster_name: Callable[[Trial], str] = input_name,
) -> CalibrationScores:
    """Collect the scores of metrics; the key of an output is its case id with `by_case`, otherwise its trial id.

    `cluster_name` names what outputs depend on each other by; outputs for one input do so by default.
    """
    names = {metric.name for metric in metrics}
    scores: dict[tuple[str, str], Score] = {}
    examples: dict[str, tuple[bool, bool]] = {}
    clusters: dict[str, str] = {}
    for result in results:
        case = result.trial.case
        key = case.id if by_case else result.trial.id
        examples[key] = (bool(case.liked), bool(case.disliked))
        clusters[key] = cluster_name(result.trial)
        scores |= {(key, score.name): score for score in result.scores if score.name in names}
    return CalibrationScores(
        run=run, metrics=tuple(metrics), scores=scores, examples=examples, clusters=clusters, embedder=embedder
    )


@check_arguments
def learn_thresholds(
    kind: Kind, name: str, limit: FalsePassLimit, evidence: LabelEvidence, found: CalibrationScores
) -> Calibration:
    """Learn a threshold for each metric; with several, each gets a higher level, so that all hold together."""
    level = split_level(limit.level, len(found.metrics))
    each = replace(limit, level=level)
    return Calibration(
        kind=kind,
        name=name,
        limit=limit,
        evidence=evidence,
        metrics=tuple(_calibrated(metric, each, evidence, found, kind) for metric in found.metrics),
        run=found.run,
    )


def _calibrated(
    metric: Metric, limit: FalsePassLimit, evidence: LabelEvidence, found: CalibrationScores, kind: Kind
) -> CalibratedMetric:
    values = _values(metric, found)
    # people choose what they label in a project or a file, so only all outputs of a run tell how scores usually are
    usual = score_distribution([*values.values()], [found.clusters[key] for key in values]) if kind == "run" else None
    told, choice = random_labels(evidence, values, found.clusters, UNLIKELY / max(1, len(found.metrics)))
    judged = [(one, values[one.key]) for one in told if one.key in values]
    unscored = [one for one in told if one.key not in values]
    examples = [found.examples.get(one.key, (False, False)) for one, _ in judged]
    worst = _barred(metric)
    learned = learn_threshold(
        [value for _, value in judged],
        [one.liked for one, _ in judged],
        limit.max_false_pass,
        clusters=[found.clusters[one.key] for one, _ in judged],
        level=limit.level,
        direction=metric.direction,
    )
    barred = [one.liked for one, value in judged if value == worst]
    return CalibratedMetric(
        metric=metric,
        learned=_refused(learned, choice.reason) if choice.reason else _within(_in_unit(learned, found.unit)),
        liked=tuple(value for one, value in judged if one.liked and value != worst),
        disliked=tuple(value for one, value in judged if not one.liked and value != worst),
        barred=(sum(barred), len(barred) - sum(barred)),
        unscored=len(unscored),
        alone=sum(found.examples.get(one.key, (False, False)) == (False, False) for one in unscored),
        one_sided=sum(disliked and not liked for liked, disliked in examples),
        embedder=found.embedder,
        scores=usual,
        is_random=choice.is_random,
        set_aside=choice.set_aside,
        unit=found.unit,
    )


def _values(metric: Metric, found: CalibrationScores) -> dict[str, float]:
    """Return the values of all scored outputs."""
    values = {key: score_value(score, metric) for (key, name), score in found.scores.items() if name == metric.name}
    return {key: value for key, value in values.items() if value is not None}


def score_value(score: Score, metric: Metric) -> float | None:
    """Return the value of a score from 0 to 1, or one beyond all others if it fails at any threshold; None without a value."""
    value = _value(score) if score.status == "scored" else None
    return _barred(metric) if value is not None and fails_at_any_threshold(score) else value


def _barred(metric: Metric) -> float:
    """Return the value that stands for an output that fails at any threshold."""
    return 1 - BARRED if metric.direction == "lower" else BARRED


def _in_unit(learned: LearnedThreshold, unit: str) -> LearnedThreshold:
    """Name clusters instead of cases in the reason of a threshold that is missing."""
    if not learned.missing or unit == CASE:
        return learned
    return replace(learned, reason=too_few_bad_message(learned.missing + learned.bad_cases, learned.bad_cases, unit))


def _refused(learned: LearnedThreshold, reason: str) -> LearnedThreshold:
    return replace(
        learned, threshold=None, reason=reason, bound=None, method="none", in_sample=None, cross_fitted=None, missing=0
    )


def _value(score: Score) -> float | None:
    """Return the value of a score if it lies between 0 and 1."""
    value = score.value
    return value if value is not None and math.isfinite(value) and 0 <= value <= 1 else None


def _within(learned: LearnedThreshold) -> LearnedThreshold:
    """Limit a threshold to 0 to 1; it lies outside if only outputs that always fail have to be kept out."""
    if learned.threshold is None:
        return learned
    return replace(learned, threshold=min(1.0, max(0.0, learned.threshold)))


@check_arguments
def select_metrics(known: Sequence[Metric], names: Sequence[str], judges: Sequence[str], where: str) -> list[Metric]:
    """Return the metrics with these names, each judge separately; all metrics if no names are given.

    Raises:
        ConfigError: the run has no such metric, or none by such a judge.
    """
    found: dict[str, Metric] = {}
    for name in names or [metric.name for metric in known]:
        several = [metric for metric in known if name in (metric.name, metric.base)]
        if not several:
            raise ConfigError(_unknown(name, known, where))
        of_judge = [metric for metric in several if not judges or metric.judge in judges]
        if not of_judge and names:
            who = ", ".join(dict.fromkeys(metric.judge or "nobody" for metric in several))
            raise ConfigError(f"{where}: {name} was judged by {who}, not by {', '.join(judges)}.")
        found |= {metric.name: metric for metric in of_judge}
    if judges and not found:
        who = ", ".join(dict.fromkeys(metric.judge for metric in known if metric.judge)) or "nobody"
        raise ConfigError(f"{where} was judged by {who}, not by {', '.join(judges)}.")
    return list(found.values())


def _unknown(name: str, known: Sequence[Metric], where: str) -> str:
    names = list(dict.fromkeys(n for metric in known for n in (metric.base, metric.name) if n))
    close = get_close_matches(name, names, n=1)
    advice = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(names) or 'no metric at all'}."
    return f"{where} has no metric {name!r}; {advice} Other metrics judge its outputs with: evalmark rescore"
