"""Text about the sources of a metric's variance, and about the change that would narrow its interval most."""

from collections.abc import Mapping

from evalmark.core.text import count, one_line
from evalmark.stats.summary.metric_summary import scale_ends
from evalmark.stats.summary.summary import (
    MetricSummary,
    ProjectedInterval,
    SampleChange,
    SummaryGroup,
    VarianceSource,
    VarianceSplit,
)

from .numbers import GAP, number_text

TOPIC = "variance"
SOURCE_HEADS = ("source", "share of the variance", "standard deviation")
CHANGE_HEADS = ("change", "95 % interval", "cost")
_JUDGING: tuple[VarianceSource, ...] = ("judge", "judge_by_case", "verdict")
_NAMED = 3
"""The largest number of metrics named in one line."""


def variance_lines(part: SummaryGroup) -> list[tuple[str, str]]:
    """List `(metric, sentence)` for each metric whose variance is split, then the reasons why others are not."""
    lines = [(one_line(split.metric, 60), variance_line(split, part)) for split in part.variances if not split.reason]
    reasons: dict[str, list[str]] = {}
    for split in part.variances:
        if split.reason:
            reasons.setdefault(split.reason, []).append(one_line(split.metric, 40))
    for reason, names in reasons.items():
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        lines.append((TOPIC, f"not split by source for {', '.join(names[:_NAMED])}{more}: {reason}"))
    return lines


def variance_line(split: VarianceSplit, part: SummaryGroup) -> str:
    """Describe the share of each source in the variance of a metric, and the change that would narrow its interval most."""
    shares = f"variance of single scores: {', '.join(_short_shares(split))}"
    advice = split.advice
    if advice is None:
        return shares
    metric = _metric(split, part)
    narrowest = split.projections[0]
    how = "most" if advice == narrowest else f"nearly as much as {change_text(narrowest.change, split)}"
    widths = f"{_current_width(split, metric)} now, {_projected_width(advice, metric)}{cost_text(advice)}"
    others = [one for one in split.projections if one.change in ("judges", "verdicts")]
    if advice.change == "better_judge":
        widths += "".join(
            f"; {change_text(one.change, split)}: {_projected_width(one, metric)}{cost_text(one)}" for one in others
        )
    return f"{shares}; {change_text(advice.change, split)} would narrow the interval {how}: {widths}"


def source_rows(split: VarianceSplit, part: SummaryGroup) -> list[tuple[str, str, str]]:
    """List the known sources of a split: the source, its share, and its standard deviation."""
    shares, metric = split.shares, _metric(split, part)
    rows = []
    for source, text in _source_texts(split).items():
        value = split.components.get(source)
        if value is None:
            continue
        note = " (estimated below 0)" if source in split.below_zero else ""
        rows.append((text, _whole_percent(shares[source]) + note, width_text(value**0.5, metric)))
    return rows


def projection_rows(split: VarianceSplit, part: SummaryGroup) -> list[tuple[str, str, str]]:
    """List the changes of a split: the change, the half-width of the interval after it, and its cost."""
    metric = _metric(split, part)
    rows = [("no change", _current_width(split, metric), "")]
    return rows + [
        (
            change_text(one.change, split),
            _projected_width(one, metric),
            cost_text(one).removeprefix(" with ") or "another judge",
        )
        for one in split.projections
    ]


def change_text(change: SampleChange, split: VarianceSplit) -> str:
    """Name a change of the sample."""
    texts: Mapping[SampleChange, str] = {
        "clusters": f"twice the {split.unit}s",
        "cases": "twice the cases" if split.unit == "case" else f"twice the cases of each {split.unit}",
        "repeats": "twice the repeats",
        "judges": "twice the judges",
        "verdicts": "asking the judge twice as often",
        "better_judge": "a better judge",
    }
    return texts[change]


def cost_text(change: ProjectedInterval) -> str:
    """Describe the cost of a change; empty if it needs no more calls."""
    parts = [
        count(number, f"more {noun}")
        for number, noun in ((change.outputs, "output"), (change.verdicts, "verdict"))
        if number
    ]
    return f" with {' and '.join(parts)}" if parts else ""


def _source_texts(split: VarianceSplit) -> dict[VarianceSource, str]:
    known = {source for source, value in split.components.items() if value is not None}
    of_case = "case" if "cluster" not in known else f"case of one {split.unit}"
    judge = " and verdict of the judge" if split.judges and not known & {"judge_by_case", "verdict"} else ""
    return {
        "cluster": split.unit,
        "case": of_case if "repeat" in known else f"{of_case}, with its output",
        "repeat": f"repeat{judge}",
        "judge": "judge: mean level (not part of the interval)",
        "judge_by_case": "judge: single cases" if "verdict" in known else "judge: single outputs",
        "verdict": "judge: single verdicts",
    }


def _short_shares(split: VarianceSplit) -> list[str]:
    """List the shares, with those of judges added up."""
    shares, texts = split.shares, _source_texts(split)
    parts = [(texts[source], shares[source], source in split.below_zero) for source in shares if source not in _JUDGING]
    judging = [source for source in _JUDGING if source in shares]
    if judging:
        parts.append(("judge", sum(shares[source] for source in judging), set(judging) <= set(split.below_zero)))
    return [
        f"{one_line(text)} {_whole_percent(share)}{' (estimated below 0)' if below else ''}"
        for text, share, below in parts
    ]


def _whole_percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _metric(split: VarianceSplit, part: SummaryGroup) -> MetricSummary | None:
    """Return the metric of a split; None if it is of several judges."""
    return next((metric for metric in part.metrics if metric.name == split.metric), None)


def _current_width(split: VarianceSplit, metric: MetricSummary | None) -> str:
    return _plus_minus(split.interval.half_width, metric)


def _projected_width(change: ProjectedInterval, metric: MetricSummary | None) -> str:
    how = "at best " if change.change == "better_judge" else "about "
    return how + _plus_minus(change.half_width, metric)


def _plus_minus(number: float | None, metric: MetricSummary | None) -> str:
    return GAP if number is None else f"±{width_text(number, metric)}"


def width_text(number: float | None, metric: MetricSummary | None) -> str:
    """Format a width, such as half the length of an interval, in the unit in which the metric's mean is shown."""
    if number is None:
        return GAP
    if metric is None:
        return number_text(number)
    if metric.truths:
        return f"{100 * number:z.1f} points"
    if metric.raw_interval is not None and (ends := scale_ends(metric.raw_unit)) is not None:
        width = ends[1] - ends[0]
        return f"{number * width:.{2 if width <= 20 else 1}f}"
    return number_text(number, metric.unit)
