"""Draw outputs of a run to label, at random or by verdict."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from evalmark.core.errors import ConfigError
from evalmark.core.suggestions import did_you_mean
from evalmark.core.values.label import LabelSample, about_output
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.stats.calibration.audit import has_verdicts, verdict_of

from .queue import MAX_ITEMS, QueueItem, draw


def drawn_at_random(run: str, items: Iterable[QueueItem], outputs: int) -> LabelSample:
    """Return the sample of a queue of outputs that were drawn at random from a number of outputs."""
    begin = about_output(run)
    return LabelSample(
        run=run, trials=tuple(item.about.removeprefix(begin) for item in items), outputs=outputs, created=_now()
    )


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
