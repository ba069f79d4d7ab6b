"""Text of an audit of scores: agreement with scores of people, and corrected means."""

from collections.abc import Iterator

from evalmark.core.text import count, one_line
from evalmark.stats.agreement.corrected_rates import CorrectedRate
from evalmark.stats.calibration.graded_audit import CorrectedMean, GradedAudit

from .audit import agreement_text
from .calibration import label_command
from .numbers import interval_in_brackets, missing_interval_reason, with_minus


def graded_title(found: GradedAudit) -> str:
    """Name the judge and whose scores its scores are compared with."""
    judge = f", judged by {one_line(found.metric.judge, 60)}," if found.metric.judge else ""
    return f"{one_line(found.metric.name, 60)}{judge} against {found.source}"


def graded_lines(found: GradedAudit, run: str) -> Iterator[tuple[str, str]]:
    """Yield `(topic, text)` for every line of an audit of the scores of the run with this id."""
    chosen = not all(one.is_random for one in found.means)
    labelled = "; of the labelled outputs only, which were not drawn at random" if chosen else ""
    if found.difference is not None:
        apart = interval_in_brackets(found.difference_interval, "+z.3f")
        yield (
            "difference",
            f"the judge scores {with_minus(f'{found.difference:+z.3f}')}{apart} from people, over {count(found.outputs, 'output')}{labelled}",
        )
    concordance = agreement_text(found.concordance, found.concordance_interval, "undefined: all scores are the same")
    yield "concordance", f"{concordance}{labelled}"
    for one in found.means:
        yield from _mean(one, several=len(found.means) > 1)
    if found.is_drawn:
        yield "drawn", "the labelled outputs were drawn at random by evalmark"
    else:
        yield (
            "assumes",
            "labels were chosen at random within each range of scores; the other method assumes it among all outputs",
        )
    if chosen or not found.is_told:
        yield "next", f"{label_command(run)} draws outputs to label, and records them"


def _mean(found: CorrectedMean, *, several: bool) -> Iterator[tuple[str, str]]:
    of = f"{one_line(found.target, 40)}: " if found.target and several else ""
    raw = f"by the judge {found.raw:z.3f}{interval_in_brackets(found.raw_interval, 'z.3f')} of {count(found.outputs, 'output')}"
    yield "mean", f"{of}{raw}; {found.labelled:,} are labelled"
    yield "corrected", _estimate(found.stratified)
    yield (
        "other method",
        f"PPI++: {_estimate(found.powered)}{f'; {found.powered.caution}' if found.powered.caution else ''}",
    )


def _estimate(found: CorrectedRate) -> str:
    if found.value is not None:
        return f"{found.value:z.3f}{interval_in_brackets(found.interval, 'z.3f')}"
    if found.interval.low is None or found.interval.high is None:
        return f"refused, {missing_interval_reason(found.interval)}"
    return f"from {found.interval.low:z.3f} to {found.interval.high:z.3f}, no estimate: a range of scores has no label"
