"""Compares several targets on the tests of one prompt: how often each complies with the rules."""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

from evalmark.core.values.case import Case
from evalmark.core.values.run import Metric, Run
from evalmark.core.values.score import Result, Score
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.differences import MARGIN, Difference, difference
from evalmark.stats.inference.intervals import LEVEL, Share
from evalmark.stats.inference.means import share
from evalmark.stats.inference.missing import JudgedValues, with_missing

from .clusters import ClusterFinder
from .collection import MetricScores, add_scores, left_out
from .judge_panel import judge_panels, mean_metric, mean_scores, metrics_with_several_judges
from .metric_summary import metric_summaries
from .summary import JudgeAgreement, MetricSummary

COMPLIANCE = "compliance"
"""The metric that says whether an output complies with the rules; without it, the verdict of the trial decides."""
Kind = Literal["tests", "positive", "negative", "baseline", "valid", "counted"]
KINDS: tuple[Kind, ...] = ("tests", "positive", "negative", "baseline", "valid", "counted")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestPortion:
    """A subset of a target's tests."""

    trials: int
    """All tests, including unscored ones."""
    compliant: Share
    """Compliant tests, of the scored ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFigures:
    """The figures of one target, by subset of its tests; metrics are over all tests except baseline ones."""

    target: str
    tests: TestPortion
    """All tests of rules, without baseline tests."""
    positive: TestPortion
    negative: TestPortion
    """Tests of inverse rules, whose inputs tempt the model to break a rule."""
    baseline: TestPortion
    valid: TestPortion
    """Tests whose input was found valid."""
    counted: TestPortion
    """All but tests with an invalid input, and tests of a rule that the prompt does not contain."""
    unscored: int
    """Tests without a usable verdict, including baseline tests."""
    errors: int
    """Tests without an output or with a failed judge, including baseline tests."""
    metrics: tuple[MetricSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The targets of a run in their order, and all pairwise comparisons."""

    standings: tuple[TargetFigures, ...]
    differences: tuple[Difference, ...]
    """On counted tests, first minus second: for compliance, then for each metric with values from 0 to 1.

    The intervals of one metric hold simultaneously at `level`.
    """
    level: float
    split: bool
    """Whether tests are marked as positive and negative."""
    agreements: tuple[JudgeAgreement, ...]
    """One for each metric with several judges, over all tests."""
    has_compliance: bool
    """Whether a metric `compliance` decides; without it, every score that can pass has to."""


@check_arguments
def overview(run: Run, *, level: float = LEVEL, margin: float = MARGIN) -> Overview:
    """Compare the targets of a run, in one pass over its results.

    Each of k pairs has an interval at 1 - (1 - level) / k (Bonferroni), so that those of one metric hold
    simultaneously. Differences within `margin`, a share of the cases, count as none.
    """
    names = {metric.name for metric in run.metrics if COMPLIANCE in (metric.name, metric.base)}
    judges = {base: several for base, several in metrics_with_several_judges(run.metrics).items() if base != COMPLIANCE}
    metrics = list(_with_means(run.metrics, judges))
    targets: dict[str, _Tests] = {}
    judged, finder = judge_panels(run.metrics), ClusterFinder(run)
    for result in run.results:
        trial, cluster = result.trial, finder.find(result.trial)
        if (tests := targets.get(trial.target)) is None:
            tests = targets[trial.target] = _Tests(names, finder)
        more = mean_scores(result.scores, judges) if judges else ()
        tests.add(replace(result, scores=(*result.scores, *more)) if judges else result, cluster)
        for panel in judged:
            panel.add(result.scores, cluster)
    targets = {target: targets[target] for target in run.in_order(targets)}
    return Overview(
        standings=tuple(tests.standing(target, metrics, level) for target, tests in targets.items()),
        agreements=tuple(panel.agreement(level) for panel in judged),
        differences=tuple(_differences(targets, level, margin)),
        level=level,
        split=any(tests.verdicts[kind] for tests in targets.values() for kind in ("positive", "negative")),
        has_compliance=bool(names),
    )


def _with_means(metrics: Sequence[Metric], judges: Mapping[str, Sequence[Metric]]) -> Iterable[Metric]:
    """Yield the metrics, with the mean of several judges after the last of them."""
    for metric in metrics:
        yield metric
        if metric.base in judges and metric.name == judges[metric.base][-1].name:
            yield mean_metric(judges[metric.base])


def _differences(targets: Mapping[str, "_Tests"], level: float, margin: float) -> Iterable[Difference]:
    """Yield the differences of all pairs of targets, metric by metric; pairs without a common case are left out."""
    pairs = list(combinations(targets, 2))
    sure = 1 - (1 - level) / max(1, len(pairs))
    for metric in dict.fromkeys(name for tests in targets.values() for name in ("", *tests.counted)):
        if metric and all(tests.means(metric) == tests.means("") for tests in targets.values()):
            continue  # the only deciding metric would be reported twice
        for first, second in pairs:
            one, other = targets[first].judged(metric), targets[second].judged(metric)
            found = difference((first, second), one.values, other.values, sure, margin)
            if found.n:
                yield with_missing(replace(found, metric=metric), one, other)


def test_kinds(case: Case) -> tuple[Kind, ...]:
    """Return the subsets that a test belongs to, by its tags and metadata."""
    why = left_out(case)
    if why == "baseline":
        return ("baseline",)
    found: list[Kind] = ["tests", *(kind for kind in ("positive", "negative") if kind in case.tags)]
    if case.metadata.get("valid") is True:
        found.append("valid")
    if why is None:
        found.append("counted")
    return tuple(found)


def _is_compliant(result: Result, names: set[str]) -> bool | None:
    """Return whether an output complies with the rules according to every judge; None if unknown."""
    if not names:
        return {"pass": True, "fail": False}.get(result.verdict)
    found = [score.passed for score in result.scores if score.name in names]
    if result.output.error is not None or not found:
        return None
    return False if False in found else (None if None in found else True)


@dataclass(slots=True)
class _Tests:
    """The trials of one target."""

    names: set[str]
    """The metrics that decide."""
    finder: ClusterFinder
    verdicts: "defaultdict[Kind, array[int]]" = field(default_factory=lambda: defaultdict(lambda: array("b")))
    """1, 0, or -1 if unknown."""
    clusters: "defaultdict[Kind, array[int]]" = field(default_factory=lambda: defaultdict(lambda: array("Q")))
    counted: dict[str, dict[tuple[str, str], list[float]]] = field(default_factory=dict)
    """For each metric, or "" for compliance, the values from 0 to 1 of each counted case, one for each repeat."""
    lost: "defaultdict[str, Counter[tuple[str, str]]]" = field(default_factory=lambda: defaultdict(Counter))
    """For each metric, how many values of each counted case are missing."""
    metrics: dict[str, MetricScores] = field(default_factory=dict)
    failed: list[tuple[tuple[str, str], set[str]]] = field(default_factory=list)
    """The counted case of each trial without an output, and the metrics that scored it nevertheless."""
    places: set[tuple[str, str]] = field(default_factory=set)
    """Datasets and modes."""
    errors: int = 0
    unscored: int = 0
    unanswered: int = 0

    def add(self, result: Result, cluster: int) -> None:
        trial, kinds = result.trial, test_kinds(result.trial.case)
        compliant = _is_compliant(result, self.names)
        self.places.add((trial.dataset, trial.mode))
        self.errors += result.verdict == "error"
        self.unscored += compliant is None and result.verdict not in ("error", "ungated")
        for kind in kinds:
            self.verdicts[kind].append(-1 if compliant is None else compliant)
            self.clusters[kind].append(cluster)
        if "counted" in kinds:
            self._count(result, compliant)
        if "tests" in kinds:
            self.unanswered += result.output.error is not None
            add_scores(self.metrics, result, cluster, self.names)

    def _count(self, result: Result, compliant: bool | None) -> None:
        case = (result.trial.dataset, result.trial.case.id)
        has_output = result.output.error is None
        values = {"": None if compliant is None else float(compliant)}
        if compliant is None and (self.names or result.verdict != "ungated"):
            self.lost[""][case] += 1
        for score in self._others(result.scores):
            if score.value is not None and 0 <= score.value <= 1:
                values[score.name] = score.value if score.direction == "higher" else 1 - score.value
            elif score.status in ("error", "unscored") or not has_output:
                self.lost[score.name][case] += 1
        if not has_output:
            self.failed.append((case, {score.name for score in result.scores}))
        for name, value in values.items():
            if value is not None:
                self.counted.setdefault(name, {}).setdefault(case, []).append(value)

    def _others(self, scores: Sequence[Score]) -> Iterable[Score]:
        return (score for score in scores if score.name not in self.names)

    def means(self, metric: str) -> Mapping[tuple[str, str], float]:
        """Return the mean over the repeats of each scored case."""
        return {case: math.fsum(values) / len(values) for case, values in self.counted.get(metric, {}).items()}

    def judged(self, metric: str) -> JudgedValues:
        """Return the means, with the lowest and highest possible mean of cases with missing values."""
        values, lost = self.counted.get(metric, {}), Counter(self.lost[metric])
        if metric:
            lost.update(case for case, names in self.failed if metric not in names)
        totals = {case: (math.fsum(values.get(case, ())), len(values.get(case, ())) + n) for case, n in lost.items()}
        return JudgedValues(
            values=self.means(metric),
            ranges={case: (total / n, min(1.0, (total + lost[case]) / n)) for case, (total, n) in totals.items()},
            missing=lost.total(),
        )

    def standing(self, target: str, metrics: Sequence[Metric], level: float) -> TargetFigures:
        portions = {kind: self._portion(kind, level) for kind in KINDS}
        clusters = self.clusters["tests"]
        return TargetFigures(
            target=target,
            **portions,
            unscored=self.unscored,
            errors=self.errors,
            metrics=metric_summaries(
                self.metrics,
                {metric.name: metric for metric in metrics},
                unanswered=self.unanswered,
                unit=self.finder.unit(self.places) if len(set(clusters)) < len(clusters) else "",
                level=level,
            ),
        )

    def _portion(self, kind: Kind, level: float) -> TestPortion:
        pairs = list(zip(self.verdicts[kind], self.clusters[kind], strict=True))
        judged = [(verdict, cluster) for verdict, cluster in pairs if verdict >= 0]
        verdicts, clusters = [verdict for verdict, _ in judged], [cluster for _, cluster in judged]
        return TestPortion(
            trials=len(pairs), compliant=share(verdicts, clusters, level, unit=self.finder.unit(self.places))
        )
