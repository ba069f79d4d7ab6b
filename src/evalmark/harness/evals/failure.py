"""The message of a trial that did not pass."""

from collections.abc import Sequence
from textwrap import indent, wrap

from evalmark.core.text import clean, display_text, one_line
from evalmark.core.values.run import Metric
from evalmark.core.values.score import Result, Score
from evalmark.inputs.secrets.masks import mask_secrets
from evalmark.reports.text.numbers import value_beside
from evalmark.reports.text.verdicts import raised_at

_WIDTH = 100
_LONGEST = 1_000
"""The most characters of a text in a message."""


class EvalFailedError(AssertionError):
    """A trial did not pass: a score is too low or missing, or something failed."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(mask_secrets(message))
        self.result = result
        """The result of the trial, with its output and scores."""


def failure_message(result: Result, metrics: Sequence[Metric]) -> str | None:
    """Return why a trial did not pass, the worst score first; None where it passed.

    A trial none of whose scores can fail passes.
    """
    if result.verdict in ("pass", "ungated"):
        return None
    by_name = {metric.name: metric for metric in metrics}
    lines = [_headline(result, by_name)]
    if result.output.error is None:
        lines += [*_input(result), _field("output", result.output.value)]
        if result.trial.case.expected is not None:
            lines.append(_field("expected", result.trial.case.expected))
        lines += [_score_lines(score, by_name.get(score.name)) for score in sorted(result.scores, key=_severity)]
    return "\n".join(lines)


def _headline(result: Result, metrics: dict[str, Metric]) -> str:
    output = result.output
    if output.error is not None:
        return "\n".join([f"Error: {clean(output.error)}{raised_at(output)}", *_input(result)])
    worst = min(result.scores, key=_severity)
    if worst.status == "error":
        return f"Error: the scorer {worst.name} failed with an error."
    if worst.status == "unscored":
        return f"Unscored: {worst.name} returned no score, so the trial does not pass."
    if isinstance(worst.raw, bool):
        return f"Failed: {worst.name}"
    metric = metrics.get(worst.name)
    return f"Score: {_value(worst, metric)} {_threshold_text(worst, metric)}"


def _severity(score: Score) -> tuple[int, float]:
    """Return a sort key: errors first, then failed scores, unscored ones, and the rest."""
    if score.status == "error":
        return (0, 0.0)
    goodness = 1.0 if score.value is None else score.value if score.direction == "higher" else 1 - score.value
    if score.passed is False:
        return (1, goodness)
    return (2, 0.0) if score.status == "unscored" else (3, goodness)


def _score_lines(score: Score, metric: Metric | None) -> str:
    if score.status != "scored":
        head = f"  {score.name}: {score.status}"
    else:
        verdict = {True: "passed", False: "failed", None: "recorded"}[score.passed]
        value = "" if isinstance(score.raw, bool) else f"{_value(score, metric)} {_threshold_text(score, metric)}, "
        head = f"  {score.name}: {value}{verdict}"
    reason = clean(score.reason)[:_LONGEST] + raised_at(score)
    return "\n".join([head, *(indent(line, "    ") for line in wrap(reason, _WIDTH - 4))]) if reason else head


def _value(score: Score, metric: Metric | None) -> str:
    if score.value is None:
        return one_line(score.raw, 40)
    value = value_beside(score.value, None if score.passed is None else limit_of(score, metric))
    return (
        value
        if score.raw in (score.value, None) or isinstance(score.raw, bool)
        else f"{value} ({one_line(score.raw, 40)})"
    )


def _threshold_text(score: Score, metric: Metric | None) -> str:
    """Return the threshold of a score, in words."""
    limit = limit_of(score, metric)
    if score.passed is None:
        return "(no threshold)"
    if limit is None:
        return "(as the scorer decides)"
    default = ", the default" if metric is None or metric.threshold is None else ""
    wrong_side = "below" if score.direction == "higher" else "above"
    side = wrong_side if score.passed is False else f"not {wrong_side}"
    return f"{side} the threshold {value_beside(limit, limit)}{default}"


def limit_of(score: Score, metric: Metric | None) -> float | None:
    """Return the threshold of a score; None if the scorer decides by itself."""
    own = score.detail.get("threshold")
    limit = own if metric is None or metric.threshold is None else metric.threshold
    return float(limit) if isinstance(limit, (int, float)) and not isinstance(limit, bool) else None


def _input(result: Result) -> list[str]:
    """Return the input line; none where the test itself is the case."""
    case = result.trial.case
    return [] if case.input is None else [_field("input", case.input)]


def _field(name: str, value: object) -> str:
    text = display_text(value)
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"
    lines = cut.splitlines() or [""]
    return "\n".join([f"  {name + ':':<10}{lines[0]}", *(f"  {'':<10}{line}" for line in lines[1:])])
