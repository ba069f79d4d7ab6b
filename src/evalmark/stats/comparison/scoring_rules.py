"""Scores both runs of a comparison by the same rules: those of the newer run."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from evalmark.core.embedding_modes import model_and_mode
from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Result, Score
from evalmark.scoring.binding.scores import fails_at_any_threshold, meets_threshold
from evalmark.stats.inference.argument_checks import check_arguments

ComparedPart = Literal["all", "values", "nothing"]
"""Which part of a metric is compared: all; the values without pass or fail; nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringRule:
    """How a stored score is converted, so that both runs follow the same rule."""

    kind: Literal["threshold", "own thresholds", "truth", "undecided", "left out"]
    """By a threshold, by the scorer's own thresholds or by its boolean; neither passes nor fails; or left out."""
    threshold: float = 0.0
    own_thresholds: Mapping[str, float] = field(default_factory=dict)
    """The scorer's own thresholds by name."""

    def of(self, score: Score) -> Score | None:
        """Return the score under this rule; None if it is left out."""
        if self.kind == "left out":
            return None
        if score.status != "scored":
            return score
        if self.kind == "undecided":
            return replace(score, passed=None)
        passed = self._passes(score)
        if passed is None:
            reason = "the stored score cannot be judged by the rule of the newer run"
            return replace(score, status="unscored", value=None, passed=None, reason=reason)
        return score if score.passed is passed else replace(score, passed=passed)

    def _passes(self, score: Score) -> bool | None:
        # the score itself holds the direction, because function scorers have no other place for it
        if self.kind == "truth":
            return score.raw is (score.direction == "higher") if isinstance(score.raw, bool) else None
        if score.value is None:
            return None
        threshold = self.threshold if self.kind == "threshold" else own_threshold(score, self.own_thresholds)
        if threshold is None:
            return None
        return not fails_at_any_threshold(score) and meets_threshold(score.value, threshold, score.direction)


def own_threshold(score: Score, thresholds: Mapping[str, float]) -> float | None:
    """Return the cosine scorer's own threshold for the side of the closest example."""
    closest: Any = score.detail.get("closest")
    if not isinstance(closest, Mapping):
        return 1.0 if fails_at_any_threshold(score) else None
    return thresholds.get("positive" if closest.get("label") == "liked" else "negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class RejudgedCounts:
    """Scores of the baseline that were judged by the rules of the newer run."""

    n: int
    then: int | None
    """How many passed by their own rule; None if they could neither pass nor fail."""
    today: int | None
    """How many pass by the rule of the newer run; None if they can neither pass nor fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """A metric whose rule differs between the runs, and what of it is compared."""

    metric: str
    dataset: str
    """In the newer run, or in the baseline if only that has the metric."""
    was: str
    """What changed, as part of a sentence: `the threshold was 0.35 and is now 0.01`."""
    compared: ComparedPart
    is_judged: bool = False
    """Whether the metric has a judge in the newer run."""
    only: Literal["run", "baseline", ""] = ""
    """Which run alone has the metric."""
    rejudged: RejudgedCounts | None = None
    """None unless scores of the baseline are judged again."""


RulesByMetric = Mapping[str, Mapping[str, ScoringRule]]
"""The rule of each metric in each dataset; metrics without a rule stay unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringRules:
    """The rules for the stored scores of both runs."""

    of_run: RulesByMetric = field(default_factory=dict)
    of_baseline: RulesByMetric = field(default_factory=dict)
    changes: tuple[RuleChange, ...] = ()
    verdicts: tuple[RejudgedCounts, ...] = ()
    """The trials of the baseline that passed or failed, if its results are judged again; otherwise empty."""

    def run(self, result: Result) -> Result:
        """Return a result of the newer run without scores that are not compared."""
        return _under(self.of_run, result)

    def baseline(self, result: Result) -> Result:
        """Return a result of the baseline by the rules of the newer run."""
        return _under(self.of_baseline, result)

    def runs(self, run: Run, baseline: Run) -> tuple[Run, Run]:
        """Return both runs under the same rules."""
        now = replace(run, results=_RejudgedResults(run.results, self.of_run)) if self.of_run else run
        before = (
            replace(baseline, results=_RejudgedResults(baseline.results, self.of_baseline))
            if self.of_baseline
            else baseline
        )
        return now, before

    @property
    def left_out(self) -> bool:
        """Whether part of a metric of both runs is not compared."""
        return any(change.compared != "all" and not change.only for change in self.changes)

    @property
    def is_partial(self) -> bool:
        """Whether part of any metric is not compared."""
        return any(change.compared != "all" for change in self.changes)


SAME = ScoringRules()
"""Both runs have the same rules already."""


@dataclass(frozen=True, slots=True)
class _RejudgedResults(Collection[Result]):
    """Results that are judged by other rules when they are read."""

    results: Collection[Result]
    rules: RulesByMetric

    def __iter__(self) -> Iterator[Result]:
        return (_under(self.rules, result) for result in self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __contains__(self, result: object) -> bool:
        return any(one == result for one in self)


def _under(kept: RulesByMetric, result: Result) -> Result:
    rules = kept.get(result.trial.dataset)
    if not rules:
        return result
    found = ((score, _rule_for(score.name, rules)) for score in result.scores)
    judged = [score if rule is None else rule.of(score) for score, rule in found]
    if all(one is score for one, score in zip(judged, result.scores, strict=True)):
        return result
    return replace(result, scores=tuple(score for score in judged if score is not None))


def _rule_for(score: str, rules: Mapping[str, ScoringRule]) -> ScoringRule | None:
    """Return the rule for a score by its name, or by the metric whose name its name begins with."""
    if (rule := rules.get(score)) is not None or "." not in score:
        return rule
    return next((rule for name, rule in rules.items() if score.startswith(f"{name}.")), None)


@dataclass(slots=True)
class RuleEvidence:
    """What the stored scores of a metric reveal about its rule."""

    scored: int = 0
    decided: int = 0
    follows: bool = True
    """Whether each score passes exactly if its value meets the metric's threshold."""
    truths: bool = True
    """Whether each score is a boolean that passes if it is the better one."""
    booleans: bool = True
    """Whether each score is a boolean."""

    def add(self, score: Score, metric: Metric | None) -> None:
        """Add a score; those without a result are ignored."""
        if score.status != "scored":
            return
        self.scored += 1
        self.decided += score.passed is not None
        self.booleans = self.booleans and isinstance(score.raw, bool)
        self.truths = self.truths and ScoringRule(kind="truth").of(score) is score
        threshold = None if metric is None else metric.threshold
        if threshold is not None:
            by_threshold = ScoringRule(kind="threshold", threshold=threshold)
            self.follows = self.follows and by_threshold.of(score) is score


class RunRules:
    """The metrics of one run, from its header and its scores."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._headers: dict[str, dict[str, Metric]] = {}
        self.seen: dict[str, dict[str, RuleEvidence]] = {}
        for result in run.results:
            dataset = result.trial.dataset
            seen = self.seen.setdefault(dataset, {})
            for score in result.scores:
                if (evidence := seen.get(score.name)) is None:
                    evidence = seen[score.name] = RuleEvidence()
                evidence.add(score, self.metric(dataset, score.name))

    def header(self, dataset: str) -> Mapping[str, Metric]:
        """Return the metrics of a dataset by name."""
        if dataset not in self._headers:
            self._headers[dataset] = metrics_for(self.run.metrics, dataset)
        return self._headers[dataset]

    def metric(self, dataset: str, score: str) -> Metric | None:
        """Return the metric of a score by its name, or the metric whose name its name begins with."""
        header = self.header(dataset)
        return header.get(score) or next((m for name, m in header.items() if score.startswith(f"{name}.")), None)

    def silent(self, dataset: str) -> Mapping[str, Metric]:
        """Return the metrics without a score of their name; such a metric may give scores with other names."""
        seen = self.seen.get(dataset, {})
        given = {
            name for score in seen if (metric := self.metric(dataset, score)) is not None for name in [metric.name]
        }
        return {name: metric for name, metric in self.header(dataset).items() if name not in given}


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDecision:
    """How a metric with different rules is compared."""

    was: str
    compared: ComparedPart
    rule: ScoringRule
    """For the baseline; also for the run, if part of the metric is not compared."""


def align_rules(run: Run, baseline: Run) -> ScoringRules:
    """Return the rules that judge a run and its baseline alike, by the rules of the run.

    Results are read only if the headers differ or are incomplete. If only a threshold differs, the stored values
    of the baseline are judged by the newer one. Scores of another judge, scorer or embedding model cannot be
    recomputed without calling it, so such a metric is left out.
    """
    if run is baseline or (run.metrics and have_same_rules(run, baseline)):
        return SAME
    return _RuleAligner(RunRules(run), RunRules(baseline)).rules()


@check_arguments
def have_same_rules(run: Run, baseline: Run) -> bool:
    """Return whether the headers of two runs contain the same rules; reads no results."""
    return bool(_headers(run, baseline) == _headers(baseline, run))


def _headers(run: Run, other: Run) -> Any:
    """Return the rules in a header in a form that can be compared with another run."""
    model = model_and_mode(run.embedder)[0] if run.embedder and other.embedder else ""
    alone = len(run.datasets) == len(other.datasets) == 1
    found = [replace(metric, dataset="" if alone else metric.dataset) for metric in run.metrics]
    return model, sorted(found, key=lambda metric: (metric.name, metric.dataset))


@check_arguments
def rules_from_headers(run: Run, baseline: Run) -> ScoringRules:
    """Return the rules for a run without results, from the headers alone."""
    if not (run.metrics and baseline.metrics):
        return SAME
    models = {model_and_mode(one.embedder)[0] for one in (run, baseline) if one.embedder}
    of_run: dict[str, dict[str, ScoringRule]] = {}
    of_baseline: dict[str, dict[str, ScoringRule]] = {}
    for dataset in dict.fromkeys(info.name for one in (run, baseline) for info in one.datasets):
        now, before = metrics_for(run.metrics, dataset), metrics_for(baseline.metrics, dataset)
        for name in dict.fromkeys([*now, *before]):
            if name in now and name in before:
                found = decide_rule(now[name], before[name], other_model=len(models) > 1)
            else:
                found = RuleDecision(was="", compared="nothing", rule=ScoringRule(kind="left out"))
            if found is not None:
                of_baseline.setdefault(dataset, {})[name] = found.rule
                if found.compared != "all":
                    of_run.setdefault(dataset, {})[name] = found.rule
    return ScoringRules(of_run=of_run, of_baseline=of_baseline)


class _RuleAligner:
    """Determines the rules of two runs, dataset by dataset."""

    def __init__(self, now: RunRules, before: RunRules) -> None:
        self.now, self.before = now, before
        models = [model_and_mode(side.run.embedder)[0] for side in (now, before) if side.run.embedder]
        self.other_model = len(set(models)) > 1

    def rules(self) -> ScoringRules:
        of_run: dict[str, dict[str, ScoringRule]] = {}
        of_baseline: dict[str, dict[str, ScoringRule]] = {}
        changes: list[RuleChange] = []
        for mine, theirs in self._datasets():
            for name in dict.fromkeys([*self.now.seen.get(mine, ()), *self.before.seen.get(theirs, ())]):
                found = self._ruling(mine, theirs, name)
                if found is None:
                    continue
                change, rule = found
                changes.append(change)
                of_baseline.setdefault(theirs, {})[name] = rule
                if change.compared != "all":
                    of_run.setdefault(mine, {})[name] = rule
        return self._counted(ScoringRules(of_run=of_run, of_baseline=of_baseline, changes=tuple(changes)))

    def _datasets(self) -> list[tuple[str, str]]:
        """Pair the datasets of both runs by name, or the only ones."""
        mine, theirs = list(self.now.seen), list(self.before.seen)
        if len(mine) == len(theirs) == 1:
            return [(mine[0], theirs[0])]
        return [(name, name) for name in dict.fromkeys([*mine, *theirs])]

    def _ruling(self, mine: str, theirs: str, name: str) -> tuple[RuleChange, ScoringRule] | None:
        now, before = self._metrics(mine, theirs, name)
        here, there = name in self.now.seen.get(mine, {}), name in self.before.seen.get(theirs, {})
        if mine in self.now.seen and theirs in self.before.seen and here != there and (now is None or before is None):
            only: Literal["run", "baseline"] = "run" if here else "baseline"
            dataset = mine if here else theirs
            change = RuleChange(metric=name, dataset=dataset, was="", compared="nothing", only=only)
            return change, ScoringRule(kind="left out")
        if now is None or before is None or not (here and there):
            return None
        evidence = self.now.seen[mine][name]
        known = evidence, self.before.seen[theirs][name]
        found = decide_rule(now, before, known, other_model=self.other_model)
        if found is None:
            return None
        change = RuleChange(
            metric=name, dataset=mine, was=found.was, compared=found.compared, is_judged=bool(now.judge)
        )
        return change, found.rule

    def _metrics(self, mine: str, theirs: str, name: str) -> tuple[Metric | None, Metric | None]:
        """Return the metric of a score in both runs."""
        now, before = self.now.metric(mine, name), self.before.metric(theirs, name)
        if now is not None or before is not None:
            return now, before
        mute, other = self.now.silent(mine), self.before.silent(theirs)
        both = [(metric, other[key]) for key, metric in mute.items() if key in other]
        changed = [(one, two) for one, two in both if decide_rule(one, two, other_model=self.other_model)]
        return next(iter(changed), next(iter(both), (None, None)))

    def _counted(self, rules: ScoringRules) -> ScoringRules:
        """Count how much of the baseline passes by either rule."""
        if not rules.of_baseline:
            return rules
        counts: defaultdict[tuple[str, str], _Count] = defaultdict(_Count)
        whole = _Count()
        for result in self.before.run.results:
            dataset, kept = result.trial.dataset, rules.of_baseline.get(result.trial.dataset, {})
            for score in result.scores:
                if score.name in kept and kept[score.name].kind != "left out" and score.status == "scored":
                    counts[dataset, score.name].add(score.passed, getattr(kept[score.name].of(score), "passed", None))
            whole.add(*(_PASSED.get(one.verdict) for one in (result, rules.baseline(result))))
        theirs = dict(self._datasets())
        found = (counts.get((theirs.get(change.dataset, ""), change.metric)) for change in rules.changes)
        changes = (
            change if count is None else replace(change, rejudged=count.found())
            for change, count in zip(rules.changes, found, strict=True)
        )
        return replace(rules, changes=tuple(changes), verdicts=(whole.found(),))


_PASSED: Mapping[str, bool] = {"pass": True, "fail": False}


@dataclass(slots=True)
class _Count:
    n: int = 0
    then: int | None = None
    today: int | None = None

    def add(self, then: bool | None, today: bool | None) -> None:
        self.n += then is not None or today is not None
        self.then = _more(self.then, then)
        self.today = _more(self.today, today)

    def found(self) -> RejudgedCounts:
        return RejudgedCounts(n=self.n, then=self.then, today=self.today)


def _more(count: int | None, passed: bool | None) -> int | None:
    return count if passed is None else (count or 0) + passed


def decide_rule(
    now: Metric, before: Metric, evidence: tuple[RuleEvidence, RuleEvidence] | None = None, *, other_model: bool
) -> RuleDecision | None:
    """Decide how a metric of two runs is compared; None if its rule is the same in both.

    Without `evidence`, before any score of the run is known, values are assumed to pass by their threshold.
    """
    changed = _changed_thresholds(now, before)
    if was := _other_values(now, before, other_model=other_model):
        was = f"{was} and {changed}" if changed else was
        return RuleDecision(was=was, compared="nothing", rule=ScoringRule(kind="left out"))
    if was := changed:
        rule = _rule_of(now, evidence)
        if rule is None:
            return RuleDecision(was=was, compared="values", rule=ScoringRule(kind="undecided"))
        return RuleDecision(was=was, compared="all", rule=rule)
    return None


def _other_values(now: Metric, before: Metric, *, other_model: bool) -> str:
    """Return why the values of two metrics cannot be compared; empty if they can."""
    if now.judge != before.judge:
        return f"the judge was {before.judge or 'none'} and is now {now.judge or 'none'}"
    if now.version and before.version and now.version != before.version:
        return f"{'the judge' if now.judge else 'the scorer'}'s {'prompt' if now.judge else 'code'} or settings have changed"
    if now.direction != before.direction:
        return f"{before.direction} was better and now {now.direction} is"
    if other_model and (now.embeds or before.embeds):
        return "the embedding model has changed"
    return ""


def _changed_thresholds(now: Metric, before: Metric) -> str:
    """Return which threshold of a metric changed; empty if none did."""
    if now.threshold != before.threshold:
        return f"the threshold was {_format_threshold(before.threshold)} and is now {_format_threshold(now.threshold)}"
    if now.threshold is not None:  # its own thresholds are not used then
        return ""
    names = [
        name
        for name in {**before.own_thresholds, **now.own_thresholds}
        if before.own_thresholds.get(name) != now.own_thresholds.get(name)
    ]
    return " and ".join(
        f"the threshold {name} was {_format_threshold(before.own_thresholds.get(name))} and is now {_format_threshold(now.own_thresholds.get(name))}"
        for name in names
    )


def _rule_of(now: Metric, evidence: tuple[RuleEvidence, RuleEvidence] | None) -> ScoringRule | None:
    """Return the rule by which the scores of the newer run pass; None if it is unknown."""
    seen, stored = evidence or (RuleEvidence(decided=1, truths=False), RuleEvidence())
    if seen.scored and not seen.decided:
        return ScoringRule(kind="undecided")  # the scores are only recorded
    if now.threshold is not None:
        return ScoringRule(kind="threshold", threshold=now.threshold) if seen.follows else None
    if now.own_thresholds:
        return ScoringRule(kind="own thresholds", own_thresholds=now.own_thresholds)
    return ScoringRule(kind="truth") if seen.truths and stored.booleans else None


def _format_threshold(bar: float | None) -> str:
    return "none" if bar is None else f"{bar:g}"
