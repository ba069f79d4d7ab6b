"""Computes the summary of a run from its collected results."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress
from statistics import median

from evalmark.core.values.run import Run, metrics_for
from evalmark.stats.inference.argument_checks import check_arguments
from evalmark.stats.inference.intervals import LEVEL, Share
from evalmark.stats.inference.means import share
from evalmark.stats.inference.repeats import mean_pass_at_k, mean_pass_hat_k

from .clusters import ClusterFinder
from .collection import WORST_TRIALS, CollectedResults, GroupKey, TrialGroup, collect
from .metric_summary import metric_summaries
from .missed_means import missed_means, misses_pass_rate
from .summary import RepeatFigures, Summary, SummaryGroup, TrialCounts
from .variance_split import variance_splits


@check_arguments
def summarise(
    run: Run, *, worst: int = WORST_TRIALS, level: float = LEVEL, collected: CollectedResults | None = None
) -> Summary:
    """Compute the summary of a run in one pass over its results.

    Args:
        run: The run.
        worst: The largest number of trials to review.
        level: The level of all intervals, between 0 and 1.
        collected: The results of the run, if they are collected already; then they are not read.

    Returns:
        The figures of the whole run, of each dataset and target, and of each metric.

    >>> from evalmark import evaluate
    >>> run = evaluate(["a", "b"], str.upper, [lambda output: output == "A"], store=None)
    >>> summarise(run).total.passed
    1
    """
    if collected is None:
        collected = collect(run, worst)
    groups = collected.groups
    left_out = {key: trials for key, trials in groups.items() if key[-1]}
    finder = collected.finder
    total = _tally({key: trials for key, trials in groups.items() if not key[-1]}, finder, level)
    parts = tuple(_group(key, groups[key], run, finder, level) for key in _in_order(groups, run, collected.datasets))
    missed = missed_means(parts, run.gate) if run.gate is not None else ()
    trials_decide = run.gate is None or misses_pass_rate(total, run.gate)
    return Summary(
        status=run.status,
        missing=_not_run(run, groups),
        total=total,
        groups=parts,
        worst=collected.review.in_order(missed, trials_decide=trials_decide),
        missed=missed,
        agreements=tuple(panel.agreement(level) for panel in collected.panels),
        until_decided=run.until_decided,
        shard=run.shard,
        left_out=_tally(left_out, finder, level) if left_out else None,
        by_target=_by_target(groups, run, finder, level),
        by_tag=_by_tag(collected, total.trials, level),
    )


def _by_tag(collected: CollectedResults, trials: int, level: float) -> Mapping[str, TrialCounts]:
    """Return the headline figures of each tag that some of the trials lack."""
    tallies = {tag: _tally(groups, collected.finder, level) for tag, groups in (collected.tagged or {}).items()}
    return {tag: tally for tag, tally in tallies.items() if tally.trials < trials}


def _by_target(
    groups: Mapping[GroupKey, TrialGroup], run: Run, finder: ClusterFinder, level: float
) -> Mapping[str, TrialCounts]:
    """Return the headline figures of each target, if there are several."""
    parts: dict[str, dict[GroupKey, TrialGroup]] = {}
    for key, trials in groups.items():
        if not key[-1]:
            parts.setdefault(key[1], {})[key] = trials
    return {target: _tally(parts[target], finder, level) for target in run.in_order(parts)} if len(parts) > 1 else {}


def _in_order(groups: Iterable[GroupKey], run: Run, datasets: Mapping[str, int]) -> list[GroupKey]:
    """Sort groups: counting ones first, then by dataset and by the order of the targets."""
    keys = list(groups)
    targets = {target: number for number, target in enumerate(run.in_order(key[1] for key in keys))}
    return sorted(keys, key=lambda key: (key[-1] is not None, datasets[key[0]], targets[key[1]]))


def _group(key: GroupKey, trials: TrialGroup, run: Run, finder: ClusterFinder, level: float) -> SummaryGroup:
    dataset, target, mode, why = key
    is_clustered, unit = len(set(trials.clusters)) < len(trials.clusters), finder.unit([(dataset, mode)])
    metrics = metric_summaries(
        trials.metrics,
        metrics_for(run.metrics, dataset),
        unanswered=trials.failed_outputs,
        unit=unit if is_clustered else "",
        level=level,
    )
    return SummaryGroup(
        dataset=dataset,
        target=target,
        mode=mode,
        tally=_tally({key: trials}, finder, level),
        metrics=metrics,
        repeats=_repeats(trials, run.repeat, unit, level),
        flipped=_flipped(trials, unit, level),
        left_out=why,
        variances=variance_splits(trials, metrics, unit, level),
    )


def _repeats(trials: TrialGroup, k: int, unit: str, level: float) -> RepeatFigures | None:
    if k < 2 or not trials.repeated or not any(verdict < 2 for verdict in trials.verdicts):
        return None
    tries = Counter(trials.cases)
    judged: Counter[int] = Counter()
    passed: Counter[int] = Counter()
    for case, verdict in zip(trials.cases, trials.verdicts, strict=True):
        judged[case] += verdict < 2
        passed[case] += verdict == 0
    cases = [(judged[case], passed[case]) for case in tries]
    cluster_of = dict(zip(trials.cases, trials.clusters, strict=True))
    clusters = [cluster_of[case] for case in tries]
    return RepeatFigures(
        once=mean_pass_at_k(cases, 1, level, clusters=clusters, unit=unit),
        any_of=mean_pass_at_k(cases, k, level, clusters=clusters, unit=unit),
        all_of=mean_pass_hat_k(cases, k, level, clusters=clusters, unit=unit),
    )


def _flipped(trials: TrialGroup, unit: str, level: float) -> Share | None:
    """Return the share of cases whose verdict differs between repeats, of those that were judged more than once."""
    if not trials.repeated:
        return None
    judged: Counter[int] = Counter()
    passed: Counter[int] = Counter()
    for case, verdict in zip(trials.cases, trials.verdicts, strict=True):
        judged[case] += verdict < 2
        passed[case] += verdict == 0
    cluster_of = dict(zip(trials.cases, trials.clusters, strict=True))
    repeated = [case for case, n in judged.items() if n > 1]
    if not repeated:
        return None
    flags = [int(0 < passed[case] < judged[case]) for case in repeated]
    return share(flags, [cluster_of[case] for case in repeated], level, unit=unit)


def _not_run(run: Run, groups: Mapping[GroupKey, TrialGroup]) -> int | None:
    stopped_early = run.until_decided is not None and run.until_decided.outcome is not None
    if run.status == "complete" and not stopped_early:
        return 0
    planned = planned_trials(run, len({target for _, target, *_ in groups}) or 1)
    return None if planned is None else max(0, planned - sum(len(trials.verdicts) for trials in groups.values()))


@check_arguments
def planned_trials(run: Run, targets: int) -> int | None:
    """Return the planned number of trials; None if the number of rows of a dataset is unknown."""
    rows = [dataset.rows for dataset in run.datasets]
    if not rows or None in rows:
        return None
    modes = len({metric.mode for metric in run.metrics}) or 1
    return sum(count or 0 for count in rows) * run.repeat * targets * modes


def _tally(groups: Mapping[GroupKey, TrialGroup], finder: ClusterFinder, level: float) -> TrialCounts:
    parts = groups.values()
    verdicts = array("b", chain.from_iterable(trials.verdicts for trials in parts))
    cases = array("Q", chain.from_iterable(trials.cases for trials in parts))
    judged = [verdict < 2 for verdict in verdicts]
    seconds = sorted(chain.from_iterable(trials.seconds for trials in parts))
    waited = sorted(chain.from_iterable(trials.waited for trials in parts))
    repeated = any(trials.repeated for trials in parts)
    clusters = array("Q", chain.from_iterable(trials.clusters for trials in parts))
    counts = Counter(verdicts)
    twice, flipped = _judged_twice(parts) if repeated else (set(), set())
    return TrialCounts(
        trials=len(cases),
        cases=len(set(cases)),
        passed=counts[0],
        failed=counts[1],
        errors=counts[2],
        unscored=counts[3],
        ungated=counts[4],
        pass_rate=share(
            array("b", (verdict == 0 for verdict in compress(verdicts, judged))),
            array("Q", compress(clusters, judged)),
            level,
            unit=finder.unit((dataset, mode) for dataset, _, mode, _ in groups),
        ),
        flips=len(flipped) if repeated else None,
        judged_twice=len(twice) if repeated else None,
        seconds_median=median(seconds) if seconds else None,
        seconds_p95=_quantile(seconds, 0.95),
        waited_median=median(waited) if waited else None,
    )


def _judged_twice(parts: Iterable[TrialGroup]) -> tuple[set[int], set[int]]:
    """Return the cases that were judged at least twice in a group, and those of them whose verdict differs there."""
    twice: set[int] = set()
    flipped: set[int] = set()
    for trials in parts:
        # an error is not a verdict, so a case that passed once and failed with an error has not flipped
        pairs = Counter(pair for pair in zip(trials.cases, trials.verdicts, strict=True) if pair[1] < 2)
        judged: Counter[int] = Counter()
        for (case, _), n in pairs.items():
            judged[case] += n
        twice.update(case for case, n in judged.items() if n > 1)
        flipped.update(case for case, verdict in pairs if verdict == 0 and (case, 1) in pairs)
    return twice, flipped


def _quantile(ordered: Sequence[float], q: float) -> float | None:
    """Return a quantile by linear interpolation, like numpy."""
    if not ordered:
        return None
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
