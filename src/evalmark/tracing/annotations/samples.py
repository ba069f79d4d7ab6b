"""Draw outputs of a run to label, at random or by verdict, and choose those that tell most about a metric.

Chosen outputs are never recorded as a sample: labels on them say nothing about the other outputs.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from evalmark.core.errors import ConfigError
from evalmark.core.suggestions import did_you_mean
from evalmark.core.values.label import LabelSample, about_output
from evalmark.core.values.run import Metric, Run
from evalmark.core.values.score import Result, Score
from evalmark.stats.calibration.audit import has_verdicts, verdict_of
from evalmark.stats.comparison.scoring_rules import own_threshold
from evalmark.stats.summary.judge_panel import metrics_with_several_judges

from .queue import MAX_ITEMS, QueueItem, draw

if TYPE_CHECKING:
    from evalmark.storage.queries.pages import ResultBrowser

CHOSEN = ("near", "judges")
"""Ways to choose outputs: close to the threshold of a metric, or those on which judges differ."""
MAX_CHOSEN = 200
"""Most outputs that are chosen."""


def drawn_at_random(run: str, items: Iterable[QueueItem], outputs: int) -> LabelSample:
    """Return the sample of a queue of outputs that were drawn at random from a number of outputs."""
    begin = about_output(run)
    return LabelSample(
        run=run, trials=tuple(item.about.removeprefix(begin) for item in items), outputs=outputs, created=_now()
    )


def with_threshold(run: Run) -> dict[str, Metric]:
    """Return the metrics of a run by which each case has a threshold, the same in all datasets."""
    rules = {(metric.name, metric.threshold, *metric.own_thresholds.items()) for metric in run.metrics}
    times = Counter(name for name, *_ in rules)
    return {
        metric.name: metric
        for metric in run.metrics
        if (metric.threshold is not None or metric.own_thresholds) and times[metric.name] == 1
    }


def judged_by_several(run: Run) -> dict[str, tuple[str, ...]]:
    """Return the metrics of a run with several judges, each with the names of its scores."""
    panels: Mapping[str, tuple[Metric, ...]] = metrics_with_several_judges(run.metrics)
    return {base: tuple(metric.name for metric in several) for base, several in panels.items()}


def chosen_numbers(run: Run, browsing: "ResultBrowser", how: str, metric: str, n: int) -> list[int]:
    """Return the numbers of the results that tell most about a metric, the most telling first.

    Args:
        run: a run that has ended, so that the choice stays the same.
        browsing: its results.
        how: `near` for the results whose score is the closest to the threshold, `judges` for those whose judges differ most.
        metric: a metric with a threshold, or one with several judges.
        n: how many, at most `MAX_CHOSEN`.

    Raises:
        ConfigError: the run goes on, or the metric has no threshold, or only one judge.
    """
    if run.status == "running":
        raise ConfigError(f"run {run.id} goes on, so the outputs to choose change; wait until it ends.")
    limit = min(n or MAX_CHOSEN, MAX_CHOSEN)
    if how == "near":
        rule = with_threshold(run).get(metric)
        if rule is None:
            raise ConfigError(f"{metric or 'the metric'} has no threshold in run {run.id}; choose one that has.")
        limits = rule.own_thresholds.values() if rule.threshold is None else (rule.threshold,)
        found = [number for each in limits for number in browsing.nearest_scores(metric, each, 2 * limit)]
        return _ranked(browsing, found, (metric,), lambda scores: _distance(scores[0], rule), limit)
    names = judged_by_several(run).get(metric)
    if names is None:
        raise ConfigError(f"{metric or 'the metric'} has no second judge in run {run.id}; name several with `judge`.")
    return _ranked(browsing, browsing.widest_scores(names, 2 * limit), names, _difference, limit)


def _distance(score: Score, metric: Metric) -> float | None:
    """Return how far a score is from the threshold that decides on it; None if that is unknown."""
    threshold = own_threshold(score, metric.own_thresholds) if metric.threshold is None else metric.threshold
    return None if threshold is None or score.value is None else abs(score.value - threshold)


def _difference(scores: list[Score]) -> float | None:
    """Return the lowest value less the highest; None if they are equal."""
    values = [score.value for score in scores if score.value is not None]
    return min(values) - max(values) or None


def _ranked(
    browsing: "ResultBrowser",
    numbers: Iterable[int],
    names: tuple[str, ...],
    rank: Callable[[list[Score]], float | None],
    limit: int,
) -> list[int]:
    """Rank results by their present scores, since the index may have earlier ones."""
    ranks = {}
    for number in numbers:
        result = browsing.result(number)
        scores = [s for s in result.scores if s.name in names and s.value is not None] if result else []
        found = rank(scores) if scores else None
        if found is not None:
            ranks[number] = found
    return sorted(ranks, key=ranks.__getitem__)[:limit]


def draw_sample(run: Run, n: int, by_verdict: str = "") -> LabelSample:
    """Draw outputs of a run without errors; a larger sample contains a smaller one.

    With `by_verdict`, the name of a metric, outputs that passed and outputs that failed by this metric get the same number
    of draws, or all if there are fewer.

    Raises:
        ConfigError: There are no outputs, or no verdicts of this metric.
    """
    if not 0 < n <= MAX_ITEMS:
        raise ConfigError(f"--sample is {n:,}; it has to be from 1 to {MAX_ITEMS:,}.")
    if by_verdict:
        _check_metric(run, by_verdict)
    groups: dict[bool | None, list[tuple[int, str]]] = {}
    for result in run.results:
        verdict = _verdict(result, by_verdict) if by_verdict else None
        if result.output.error is None and (verdict is not None or not by_verdict):
            groups.setdefault(verdict, []).append((int(result.trial.id, 16), result.trial.id))
    outputs = sum(map(len, groups.values()))
    if not outputs:
        raise ConfigError(f"run {run.id} has no output that could be labelled.")
    drawn = [(number, trial) for group in _portions(groups, n) for number, trial in group]
    return LabelSample(
        run=run.id,
        trials=tuple(draw(((number, trial) for number, trial in drawn), n)),
        by_verdict=by_verdict,
        outputs=outputs,
        created=_now(),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _portions(groups: dict[bool | None, list[tuple[int, str]]], n: int) -> Iterator[list[tuple[int, str]]]:
    """Yield what is drawn from each group: the same number, and more from others if a group has fewer."""
    left, groups_left = n, len(groups)
    for group in sorted(groups.values(), key=len):
        portion = draw(((number, (number, trial)) for number, trial in group), -(-left // groups_left))
        yield portion
        left, groups_left = left - len(portion), groups_left - 1


def _check_metric(run: Run, name: str) -> None:
    names = list(dict.fromkeys(metric.name for metric in run.metrics))
    if name not in names:
        advice = did_you_mean(name, names) or f"its metrics are {', '.join(names) or 'none'}."
        raise ConfigError(f"--by-verdict {name}: run {run.id} has no such metric; {advice}")
    if not has_verdicts(run.results, name):
        raise ConfigError(
            f"--by-verdict {name}: this metric has no verdicts in run {run.id}, since it has no threshold."
        )


def _verdict(result: Result, metric: str) -> bool | None:
    return next((verdict_of(score, None) for score in result.scores if score.name == metric), None)
