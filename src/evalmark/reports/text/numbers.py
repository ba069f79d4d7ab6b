"""Format numbers, shares, intervals and durations for people."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from evalmark.core import text as core_text
from evalmark.core.text import count, distinct_from, one_line, percent_distinct_from
from evalmark.core.values.score import Direction
from evalmark.scoring.binding.scores import TOLERANCE
from evalmark.stats.inference.intervals import Interval, Share
from evalmark.stats.summary.metric_summary import scale_ends
from evalmark.stats.summary.summary import MetricSummary, TrialCounts

if TYPE_CHECKING:
    from evalmark.stats.inference.differences import Difference

DASH = "\u2013"
GAP = DASH
MINUS = "\u2212"
BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = "_.:-=+*#"
_NOISE = 1e-9
LONG_WAIT = 0.1
"""Shortest waiting time that is shown, in seconds."""


def number_text(number: float | None, unit: str = "") -> str:
    """Format a number: three decimals from 0 to 1, four digits in any other unit.

    >>> number_text(0.61275), number_text(12345.6, "edits"), number_text(-0.5) == MINUS + "0.500"
    ('0.613', '12,346', True)
    """
    if number is None:
        return GAP
    if not unit:
        return with_minus(_decimals(number, 3))
    return with_minus(f"{number:z,.0f}" if 1000 <= abs(number) < 1e9 else f"{number:z.4g}")


def with_minus(text: str) -> str:
    """Write a formatted number with a real minus sign, which is as wide as a plus and not taken for a dash.

    >>> with_minus("-1.5") == MINUS + "1.5", with_minus("1e-05")
    (True, '1e-05')
    """
    return f"{MINUS}{text[1:]}" if text.startswith("-") else text


def range_text(low: str, high: str) -> str:
    """Join the ends of a range: with a dash, or with a word where an end has a sign.

    >>> range_text("22.5", "46.3") == f"22.5 {DASH} 46.3", range_text("+2.9", "+7.3")
    (True, '+2.9 to +7.3')
    """
    return f"{low} {'to' if {low[:1], high[:1]} & {'+', MINUS} else DASH} {high}"


def value_beside(value: float, limit: float | None, decimals: int = 3) -> str:
    """Format a value from 0 to 1 with enough decimals to show on which side of a threshold it is.

    >>> value_beside(0.69996, 0.7), value_beside(0.7, 0.7), value_beside(0.69996, None)
    ('0.69996', '0.700', '0.700')
    """
    limits = [] if limit is None else [limit]
    return with_minus(distinct_from(value, limits, _decimals, decimals, slack=TOLERANCE))


def mean_number(mean: float | None, unit: str = "") -> str:
    """Format a mean like `number_text`; from 0 to 1, rounding never makes it 0 or 1.

    >>> mean_number(0.99998), mean_number(1.0), mean_number(12345.6, "edits")
    ('0.999', '1.000', '12,346')
    """
    if mean is None or unit or not _NOISE < mean < 1 - _NOISE:
        return number_text(mean, unit)
    return number_text(min(0.999, max(0.001, mean)))


def _decimals(number: float, digits: int) -> str:
    return f"{number:z.{digits}f}"


def percent(share: float | None, needed: float | None = None) -> str:
    """Format a share as a percentage that shows on which side of a required share it is, or a dash if it is unknown.

    >>> percent(0.9), percent(0.8996), percent(0.8996, 0.9), percent(None) == GAP
    ('90 %', '90 %', '89.96 %', True)
    """
    if share is None:
        return GAP
    return core_text.percent(share) if needed is None else percent_distinct_from(share, needed)


def rate(share: float | None, needed: float | None = None) -> str:
    """Format a share as a percentage with one decimal, so that those of a column align; a dash if it is unknown.

    It has more decimals where they show on which side of a required share it is.

    >>> rate(0.9), rate(0.99999), rate(1.0), rate(0.8996, 0.9), rate(None) == GAP
    ('90.0 %', '99.9 %', '100.0 %', '89.96 %', True)
    """
    if share is None:
        return GAP
    return f"{distinct_from(share, [] if needed is None else [needed], _share_end, 1)} %"


def scale_value(number: float, unit: str) -> str:
    """Format a value on a scale with known ends.

    >>> scale_value(2, "1..5"), scale_value(3.7419, "1..5"), scale_value(85.0, "%")
    ('2 of 1..5', '3.74 of 1..5', '85 of 100')
    """
    text = f"{number:z.0f}" if number == int(number) else scale_mean(number, unit)
    return f"{text} of {_ends(unit)}"


def scale_mean(number: float, unit: str) -> str:
    """Format a mean on a scale; rounding never makes it reach an end of the scale.

    Two decimals on a scale of up to 20 steps; one on a longer one, and none there when it is whole.

    >>> scale_mean(4.999, "1..5"), scale_mean(5, "1..5"), scale_mean(99.99, "%"), scale_mean(85, "%")
    ('4.99', '5.00', '99.9', '85')
    """
    low, high = scale_ends(unit) or (number, number)
    decimals = 2 if high - low <= 20 else 1
    if low < number < high:
        step = 10.0**-decimals
        number = min(high - step, max(low + step, number))
    return f"{number:z.0f}" if decimals == 1 and number == int(number) else f"{number:z.{decimals}f}"


def _ends(unit: str) -> str:
    return "100" if unit == "%" else unit


def interval_text(interval: Interval, unit: str = "") -> str:
    """Format both ends of an interval."""
    return range_text(mean_number(interval.low, unit), mean_number(interval.high, unit)) if interval.known else GAP


def interval_ends(interval: Interval | None, spec: str = "z.2f", scale: float = 1) -> str:
    """Format both ends of an interval; empty if it is unknown."""
    ends = None if interval is None else interval.ends
    return range_text(*(with_minus(f"{scale * end:{spec}}") for end in ends)) if ends else ""


def interval_in_brackets(interval: Interval | None, spec: str = "z.2f", scale: float = 1) -> str:
    """The same in brackets, after a space."""
    ends = interval_ends(interval, spec, scale)
    return f" ({ends})" if ends else ""


def missing_interval_reason(interval: Interval) -> str:
    """Why there is no interval."""
    return interval.method.removeprefix("none: ")


def more_cases(found: "Difference") -> str:
    """Format how many more cases would decide, as "178 (1 to 4,380)"; empty if it is decided or cannot be known."""
    if found.needed is None or found.needed_range is None:
        return ""
    fewest, most = found.needed_range
    return f"about {found.needed:,} ({fewest:,} {f'to {most:,}' if most else 'or more'})"


def share_interval(interval: Interval) -> str:
    """Format an interval of a share in percent; as in `percent`, only exact ends are shown as 0 or 100.

    >>> from evalmark.stats.inference.intervals import wilson
    >>> share_interval(wilson(20_000, 20_000)).replace(DASH, "to")
    '99.9 to 100.0 %'
    """
    return GAP if interval.ends is None else f"{f' {DASH} '.join(map(_share_end, interval.ends))} %"


def _share_end(end: float, digits: int = 1) -> str:
    least = 10.0**-digits
    return f"{min(100 - least, max(least, 100 * end)) if _NOISE < end < 1 - _NOISE else 100 * end:z.{digits}f}"


def limit_text(direction: Direction, limit: float) -> str:
    """Format the values that pass a threshold.

    >>> limit_text("higher", 0.5), limit_text("lower", 0.25)
    ('≥ 0.5', '≤ 0.25')
    """
    return f"{'≤' if direction == 'lower' else '≥'} {limit:g}"


def share_text(share: Share) -> str:
    """Format passed/total."""
    return f"{share.passed}/{share.n}" if share.n else GAP


def share_with_interval(share: Share, noun: str) -> str:
    """Format passed of total, as a percentage with its interval."""
    return f"{share.passed:,} of {count(share.n, noun)}, {percent(share.value)} ({share_interval(share.interval)})"


def lowest_first(tallies: Mapping[str, TrialCounts]) -> list[tuple[str, TrialCounts]]:
    """Sort figures by their pass rate, those without one last."""
    return sorted(tallies.items(), key=lambda item: (item[1].pass_rate.value is None, item[1].pass_rate.value, item[0]))


def mean_text(metric: MetricSummary, needed: float | None = None) -> str:
    """Format a metric's mean: on its own scale, as a percentage of yes, or as a plain number.

    Args:
        metric: The metric.
        needed: The mean that the gate requires; the text shows on which side of it the mean is.
    """
    mean, limits = metric.mean, [] if needed is None else [needed]
    if metric.raw_interval is not None and metric.raw_mean is not None:
        return f"{scale_mean(metric.raw_mean, metric.raw_unit)} of {_ends(metric.raw_unit)}"
    if mean is None or not limits:
        return percent(mean) if metric.truths else mean_number(mean, metric.unit)
    if metric.truths:
        return distinct_from(mean, limits, core_text.percent, 3)
    if metric.unit:
        return with_minus(distinct_from(mean, limits, lambda number, digits: f"{number:z.{digits}g}", 4))
    return distinct_from(mean, limits, _decimals, 3) if 0 < mean < 1 else mean_number(mean)


def mean_unit(metric: MetricSummary, needed: float | None = None) -> str:
    """Unit of `mean_text`: the mean from 0 to 1 of a metric with its own scale, else the unit."""
    if metric.raw_interval is not None and metric.mean is not None:
        limits = [] if needed is None else [needed]
        return f"({distinct_from(metric.mean, limits, _decimals, 2) if limits else scale_mean(metric.mean, '0..1')})"
    return one_line(metric.unit, 16)


def mean_beside(metric: MetricSummary, needed: float | None) -> str:
    """Format a metric's mean like `mean_text`; where the gate requires one of a metric on its own scale, also from 0 to 1."""
    text = mean_text(metric, needed)
    return text if needed is None or metric.raw_interval is None else f"{text} {mean_unit(metric, needed)}"


def mean_interval(metric: MetricSummary) -> str:
    """Format the interval of a metric's mean, in the unit of `mean_text`."""
    interval = metric.raw_interval or metric.interval
    if metric.raw_interval is not None and interval.low is not None and interval.high is not None:
        return range_text(*(with_minus(scale_mean(end, metric.raw_unit)) for end in (interval.low, interval.high)))
    return share_interval(interval) if metric.truths else interval_text(interval, metric.unit)


def time_text(seconds: float | None, waited: float | None) -> str:
    """Format how long an output took, and its waiting time if that is considerable.

    >>> time_text(1.2, 0.5), time_text(1.2, 0.05), time_text(0.0003, None)
    ('1.2 s + 500 ms waiting', '1.2 s', '300 µs')
    """
    if seconds is None or waited is None or waited < max(LONG_WAIT, 0.05 * seconds):
        return duration(seconds)
    return f"{duration(seconds)} + {duration(waited)} waiting"


def minute(moment: str) -> str:
    """Return the minute of a time in UTC; empty without a time zone.

    >>> minute("2026-11-21T10:15:59+02:00"), minute("2026-11-21T10:15:59")
    ('2026-11-21 08:15', '')
    """
    try:
        read = datetime.fromisoformat(moment)
        return read.astimezone(UTC).isoformat(" ", "minutes")[:16] if read.tzinfo else ""
    except (ValueError, OverflowError):
        return ""


def duration(seconds: float | None) -> str:
    """Format seconds in a suitable unit.

    >>> duration(2.36e-6), duration(0.0123), duration(0.9996), duration(59.96), duration(5_400), duration(86_480), duration(3e6)
    ('2.36 µs', '12.3 ms', '1 s', '60 s', '90 min', '24 h', '34.7 days')
    """
    if seconds is None:
        return GAP
    if 0 < seconds < 0.0009995:
        return f"{1_000_000 * seconds:z.3g} µs"
    if seconds < 0.9995:
        return f"{1000 * seconds:z.3g} ms"
    for most, size, unit in ((600, 1, "s"), (36_000, 60, "min"), (259_200, 3_600, "h")):
        if seconds < most:
            return f"{seconds / size:z.3g} {unit}"
    days = seconds / 86_400
    return f"{days:z.3g} days" if days < 1_000 else f"{days:z,.0f} days"


def block_bars(bins: Sequence[int], blocks: str = BLOCKS) -> str:
    """Draw a histogram with block characters, one per bin.

    >>> block_bars([0, 1, 2, 4])
    '▁▃▅█'
    """
    top = max(bins, default=0)
    return "".join(blocks[-(-n * (len(blocks) - 1) // top)] if n else blocks[0] for n in bins)
