"""Text of several targets side by side: table cells and sentences."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evalmark.core.text import count, one_line
from evalmark.core.values.run import Gate, Run
from evalmark.prompts.metrics.disagreement import Disagreement, disagreements
from evalmark.stats.inference.differences import Difference
from evalmark.stats.summary.summary import MetricSummary
from evalmark.stats.summary.target_overview import Overview, TargetFigures, TestPortion

from .change_words import OUTCOME_WORDS
from .comparison import p_value_text, points_in_brackets, signed_points
from .gate_marks import needed_mean
from .numbers import (
    GAP,
    mean_beside,
    mean_interval,
    more_cases,
    percent,
    share_interval,
    share_text,
)


class OverviewCell(NamedTuple):
    """One table cell of a target: a value and a line below it."""

    text: str
    below: str = ""


class OverviewColumn(NamedTuple):
    """A column: a heading and one cell per target."""

    heading: str
    cells: tuple[OverviewCell, ...]


def overview_columns(overview: Overview, gate: Gate | None = None) -> list[OverviewColumn]:
    """Columns of the table of targets, names first; columns without tests are left out.

    Rates and means show on which side of the gate they are.
    """
    standings = overview.standings
    columns = [
        OverviewColumn("target", tuple(OverviewCell(one_line(figures.target, 60) or GAP) for figures in standings)),
        OverviewColumn("tests", tuple(OverviewCell(f"{figures.tests.trials:,}") for figures in standings)),
    ]
    portions = {
        "compliant" if overview.has_compliance else "passed": [figures.tests for figures in standings],
        "positive": [figures.positive for figures in standings],
        "negative": [figures.negative for figures in standings],
        "baseline": [figures.baseline for figures in standings],
        "valid": [figures.valid for figures in standings],
        "counted": [figures.counted for figures in standings] if _leaves_out(overview) else [],
    }
    for heading, several in portions.items():
        if _is_judged(overview) and any(portion.trials for portion in several):
            columns.append(OverviewColumn(heading, tuple(_portion(one, gate) for one in several)))
    return columns + list(_metric_columns(standings, gate))


def _is_judged(overview: Overview) -> bool:
    return any(s.tests.compliant.n or s.baseline.compliant.n for s in overview.standings)


def _leaves_out(overview: Overview) -> bool:
    """Return whether the counted tests differ from all tests and from the valid ones."""
    return any(s.counted.trials not in (s.tests.trials, s.valid.trials) for s in overview.standings)


def _portion(portion: TestPortion, gate: Gate | None) -> OverviewCell:
    rate = portion.compliant
    if not rate.n:
        return OverviewCell(GAP)
    passed = percent(rate.value, gate.min_pass_rate if gate else None)
    return OverviewCell(f"{share_text(rate)}  {passed}", share_interval(rate.interval))


def _metric_columns(standings: Iterable[TargetFigures], gate: Gate | None) -> Iterator[OverviewColumn]:
    rows = [{metric.name: metric for metric in figures.metrics} for figures in standings]
    for name in dict.fromkeys(name for row in rows for name in row):
        metrics = [row.get(name) for row in rows]
        lower = any(metric is not None and metric.direction == "lower" for metric in metrics)
        yield OverviewColumn(one_line(name, 40) + (" ↓" if lower else ""), tuple(_metric(one, gate) for one in metrics))


def _metric(metric: MetricSummary | None, gate: Gate | None) -> OverviewCell:
    return (
        OverviewCell(GAP)
        if metric is None or not metric.n
        else OverviewCell(f"n {metric.n:,}  {mean_beside(metric, needed_mean(metric, gate))}", mean_interval(metric))
    )


def overview_remarks(overview: Overview) -> list[str]:
    """Notes below the table, one sentence each."""
    decides = "keep to the rules" if overview.has_compliance else "pass"
    standings = overview.standings
    judged = _is_judged(overview)
    sure = f"{100 * overview.level:g} % intervals are below them"
    remarks = [
        f"Percentages are shares of the judged outputs that {decides}; {sure}."
        if judged
        else f"Values are means; {sure}."
    ]
    if overview.split and judged:
        remarks.append(
            "Positive tests are about a rule, negative ones about its inverse; baseline tests were made without rules."
        )
    if judged and any(figures.valid.trials for figures in standings):
        remarks.append("Valid tests have an input that follows the input specification.")
    if _leaves_out(overview):
        remarks.append("Counted tests have an input not marked invalid and a rule not marked ungrounded.")
    for figures in standings:
        missing = [f"{figures.unscored:,} unscored" if figures.unscored else ""]
        missing.append(count(figures.errors, "error") if figures.errors else "")
        if text := ", ".join(filter(None, missing)):
            remarks.append(f"{one_line(figures.target, 60)}: {text}.")
    return remarks


def differences_title(overview: Overview) -> str:
    """Heading of `difference_lines`."""
    standings, which = overview.standings, "the counted tests"
    if not _leaves_out(overview):
        is_all = all(figures.counted.trials == figures.tests.trials for figures in standings)
        which = "all tests" if is_all else "the valid tests"
    sure = f"{100 * overview.level:g} % intervals"
    pairs = len(standings) * (len(standings) - 1) // 2
    several = f" that hold for all {pairs} pairs together" if pairs > 1 else ""
    return f"differences on {which}, paired by case, in points, with {sure}{several}"


def difference_lines(overview: Overview, most: int = 30) -> list[tuple[str, str]]:
    """List each pair of targets and their difference; of more than `most`, only the decided ones, and how many are not."""
    several = len(overview.differences) > most
    shown = [d for d in overview.differences if not several or d.outcome in ("better", "worse")]
    lines = [(_pair(d), _difference(d)) for d in shown[:most]]
    for text, rest in (
        ("better or worse", shown[most:]),
        (OUTCOME_WORDS["same"], [d for d in overview.differences if several and d.outcome == "same"]),
        (OUTCOME_WORDS["cannot tell"], [d for d in overview.differences if several and d.outcome == "cannot tell"]),
    ):
        if rest:
            lines.append((count(len(rest), "other difference"), text))
    return lines


def _pair(difference: Difference) -> str:
    metric = f"{one_line(difference.metric, 40)}: " if difference.metric else ""
    return f"{metric}{one_line(difference.first, 40)} against {one_line(difference.second, 40)}"


def _difference(difference: Difference) -> str:
    within = f" within {100 * difference.margin:g} points" if difference.outcome == "same" else ""
    value = f"{signed_points(difference.value or 0.0)}{points_in_brackets(difference)}"
    verdict = f"{OUTCOME_WORDS[difference.outcome]}{within}, {value}"
    turned = f"ahead on {difference.up:,}, behind on {difference.down:,} of {count(difference.n, 'test')}"
    alone = f", {count(difference.alone, 'test')} judged on one of them only" if difference.alone else ""
    ends = difference.interval.ends
    is_apart = ends is not None and (ends[0] > 0 or ends[1] < 0)
    p = difference.verdict_p
    luck = (
        f", which may be chance (p = {p_value_text(p, difference.interval.level)})"
        if difference.outcome == "cannot tell" and is_apart and p is not None
        else ""
    )
    return f"{verdict}{luck}; {turned}{alone}{_what_would_show(difference)}"


def _what_would_show(difference: Difference) -> str:
    """State the smallest detectable difference and how many more tests would decide; empty if one was found."""
    if difference.outcome not in ("same", "cannot tell"):
        return ""
    if difference.judged_outcome != difference.outcome:
        return f"; {count(difference.missing, 'missing result')} could change the verdict"
    tests = count(difference.n, "test")
    if difference.smallest is None:
        can = f"{tests} cannot detect any difference"
    else:
        can = f"{tests} can only detect {100 * difference.smallest:z.1f} points or more"
    more = more_cases(difference)
    more = more and f"; {more} more would decide"
    return f"; {can}{more}"


def disagreement_lines(run: Run) -> list[tuple[str, str]]:
    """List how often judges and automatic checks of the same rules disagree."""
    return [
        (_rule_of(disagreement), _disagreed(disagreement))
        for disagreement in disagreements(run)
        if disagreement.compared
    ]


def _rule_of(disagreement: Disagreement) -> str:
    judge = one_line(disagreement.judge, 60)
    return (
        judge
        if disagreement.rule is None
        else f"{judge}, rule {disagreement.rule} ({one_line(disagreement.check, 60)})"
    )


def _disagreed(disagreement: Disagreement) -> str:
    agreement = f"agree on {disagreement.agreed:,} of {count(disagreement.compared, 'output')}"
    parts = []
    if disagreement.missed:
        parts.append(f"the judge passed {disagreement.missed:,} that break a check")
    if disagreement.alone:
        parts.append(f"failed {disagreement.alone:,} that keep to every check")
    left = f"; {disagreement.left_out:,} not comparable" if disagreement.left_out else ""
    return f"{agreement}{': ' if parts else ''}{', '.join(parts)}{left}"
