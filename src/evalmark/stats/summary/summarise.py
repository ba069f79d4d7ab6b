"""Summarizes a run in one pass over its results; keeps numbers, not outputs."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, groupby
from operator import itemgetter
from statistics import median

from evalmark.core.values.run import Metric, Run, metrics_for
from evalmark.core.values.score import Mode, Result
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL
from evalmark.stats.inference.means import share
from evalmark.stats.inference.repeats import mean_pass_at_k, mean_pass_hat_k

from .headline import LeftOut, left_out
from .judge_panel import judge_panels
from .metric_scores import MetricScores, metric_summary
from .missed_means import below_means, first_to_review, missed_means, misses_pass_rate
from .summary import MetricSummary, RepeatFigures, Summary, SummaryGroup, TrialCounts
from .worst import WorstTrials

_VERDICTS = ("pass", "fail", "error", "unscored", "ungated")

Key = tuple[str, str, Mode, LeftOut | None]
"""A group: dataset, target, mode, and why its trials do not count."""


@check_arguments
def summarise(run: Run, *, worst: int = 20, level: float = LEVEL) -> Summary:
    """Compute the summary of a run in one pass over its results."""
    groups: dict[Key, _Trials] = {}
    datasets: dict[str, int] = {}
    last, judged = WorstTrials(worst), judge_panels(run.metrics)
    below = below_means(run.gate, run.metrics, worst)
    for result in run.results:
        trial, why = result.trial, left_out(result.trial.case)
        key = (trial.dataset, trial.target, trial.mode, why)
        if (group := groups.get(key)) is None:
            group = groups[key] = _Trials(datasets.setdefault(trial.dataset, len(datasets)))
        group.add(result)
        if why is None:
            last.add(result)
            below.add(result)
        for panel in judged:
            panel.add(result.scores, _case(group.dataset, trial.position))
    beside = [trials for (*_, why), trials in groups.items() if why]
    total = _tally([trials for (*_, why), trials in groups.items() if not why], level)
    parts = tuple(_group(key, groups[key], run, level) for key in _in_order(groups, run, datasets))
    missed = missed_means(parts, run.gate) if run.gate is not None else ()
    decide = run.gate is None or misses_pass_rate(total, run.gate)
    first = first_to_review(last.in_order(), below.furthest(missed), trials_decide=decide)
    return Summary(
        status=run.status,
        missing=_not_run(run, groups),
        total=total,
        groups=parts,
        worst=tuple(first[:worst]),
        missed=missed,
        agreements=tuple(panel.agreement(level) for panel in judged),
        until_decided=run.until_decided,
        shard=run.shard,
        left_out=_tally(beside, level) if beside else None,
        by_target=_by_target(groups, run, level),
    )


def _by_target(groups: Mapping[Key, "_Trials"], run: Run, level: float) -> Mapping[str, TrialCounts]:
    """Return the headline figures of each target, if there are several."""
    parts: dict[str, list[_Trials]] = {}
    for (_, target, _, why), trials in groups.items():
        if not why:
            parts.setdefault(target, []).append(trials)
    return {target: _tally(parts[target], level) for target in run.in_order(parts)} if len(parts) > 1 else {}


def _in_order(groups: Iterable[Key], run: Run, datasets: Mapping[str, int]) -> list[Key]:
    """Sort groups: counting ones first, then by dataset and by the order of the targets."""
    known = list(groups)
    targets = {target: number for number, target in enumerate(run.in_order(key[1] for key in known))}
    return sorted(known, key=lambda key: (key[-1] is not None, datasets[key[0]], targets[key[1]]))


def _group(key: Key, trials: "_Trials", run: Run, level: float) -> SummaryGroup:
    dataset, target, mode, why = key
    return SummaryGroup(
        dataset=dataset,
        target=target,
        mode=mode,
        tally=_tally([trials], level),
        metrics=tuple(_metrics(trials, metrics_for(run.metrics, dataset), level)),
        repeats=_repeats(trials, run.repeat, level),
        left_out=why,
    )


def _repeats(trials: "_Trials", k: int, level: float) -> RepeatFigures | None:
    if k < 2 or not trials.repeated or not any(verdict < 2 for verdict in trials.verdicts):
        return None
    tries = Counter(trials.cases)
    judged: Counter[int] = Counter()
    passed: Counter[int] = Counter()
    for case, verdict in zip(trials.cases, trials.verdicts, strict=True):
        judged[case] += verdict < 2
        passed[case] += verdict == 0
    cases = [(judged[case], passed[case]) for case in tries]
    return RepeatFigures(
        once=mean_pass_at_k(cases, 1, level),
        any_of=mean_pass_at_k(cases, k, level),
        all_of=mean_pass_hat_k(cases, k, level),
    )


def _case(dataset: int, position: int) -> int:
    """Return one number for a case, so that it stays one case across targets and modes."""
    return dataset << 40 | position


def _not_run(run: Run, groups: Mapping[Key, "_Trials"]) -> int | None:
    stopped_early = run.until_decided is not None and run.until_decided.outcome is not None
    if run.status == "complete" and not stopped_early:
        return 0
    wanted = planned_trials(run, len({target for _, target, *_ in groups}) or 1)
    return None if wanted is None else max(0, wanted - sum(len(trials.verdicts) for trials in groups.values()))


@check_arguments
def planned_trials(run: Run, targets: int) -> int | None:
    """Return the planned number of trials; None if the number of rows of a dataset is unknown."""
    rows = [dataset.rows for dataset in run.datasets]
    if not rows or None in rows:
        return None
    modes = len({metric.mode for metric in run.metrics}) or 1
    return sum(count or 0 for count in rows) * run.repeat * targets * modes


@dataclass(slots=True)
class _Trials:
    """All trials of one group."""

    dataset: int
    """The number of the dataset in the run."""
    verdicts: "array[int]" = field(default_factory=lambda: array("b"))
    cases: "array[int]" = field(default_factory=lambda: array("Q"))
    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    waited: "array[float]" = field(default_factory=lambda: array("d"))
    repeated: bool = False
    failed_outputs: int = 0
    scores: dict[str, MetricScores] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        trial, output = result.trial, result.output
        self.verdicts.append(_VERDICTS.index(result.verdict))
        self.cases.append(trial.position)
        self.repeated = self.repeated or trial.repeat > 0
        self.failed_outputs += output.error is not None
        if output.seconds is not None and math.isfinite(output.seconds):
            self.seconds.append(output.seconds)
        if output.waited is not None and math.isfinite(output.waited):
            self.waited.append(output.waited)
        for score in result.scores:
            if (column := self.scores.get(score.name)) is None:
                column = self.scores[score.name] = MetricScores(score.direction)
            column.add(score, trial)
            column.on_failed_outputs += output.error is not None
            if score.status == "skipped" and output.error is None:
                column.skip(score.reason)


def _tally(parts: Sequence[_Trials], level: float) -> TrialCounts:
    verdicts = array("b", chain.from_iterable(trials.verdicts for trials in parts))
    cases = array("Q", (_case(trials.dataset, position) for trials in parts for position in trials.cases))
    judged = [verdict < 2 for verdict in verdicts]
    seconds = sorted(chain.from_iterable(trials.seconds for trials in parts))
    waited = sorted(chain.from_iterable(trials.waited for trials in parts))
    repeated = any(trials.repeated for trials in parts)
    once = len(cases) == (distinct := len(set(cases)))
    counts = Counter(verdicts)
    return TrialCounts(
        trials=len(cases),
        cases=distinct,
        passed=counts[0],
        failed=counts[1],
        errors=counts[2],
        unscored=counts[3],
        ungated=counts[4],
        pass_rate=share(
            array("b", (verdict == 0 for verdict in compress(verdicts, judged))),
            None if once else array("Q", compress(cases, judged)),
            level,
        ),
        flips=sum(_flips(trials) for trials in parts) if repeated else None,
        seconds_median=median(seconds) if seconds else None,
        seconds_p95=_quantile(seconds, 0.95),
        waited_median=median(waited) if waited else None,
    )


def _flips(trials: _Trials) -> int:
    # an error is no verdict, so a case that passed once and failed with an error has not flipped
    pairs = sorted({pair for pair in zip(trials.cases, trials.verdicts, strict=True) if pair[1] < 2})
    return sum(len(list(group)) > 1 for _, group in groupby(pairs, key=itemgetter(0)))


def _quantile(ordered: Sequence[float], q: float) -> float | None:
    """Return a quantile by linear interpolation, like numpy."""
    if not ordered:
        return None
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _metrics(trials: _Trials, known: dict[str, Metric], level: float) -> Iterable[MetricSummary]:
    names = [name for name in known if name in trials.scores] + [name for name in trials.scores if name not in known]
    for name in names:
        yield metric_summary(
            known.get(name) or Metric(name=name),
            trials.scores[name],
            unanswered=trials.failed_outputs,
            repeated=trials.repeated,
            level=level,
        )
