"""Text of several targets side by side: table cells and sentences."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evalmark.core.text import count, one_line
from evalmark.core.values.run import Run
from evalmark.prompts.metrics.disagreement import Disagreement, disagreements
from evalmark.stats.inference.differences import Difference
from evalmark.stats.summary.summary import MetricSummary
from evalmark.stats.summary.target_overview import Overview, TargetFigures, TestPortion

from .numbers import (
    GAP,
    interval_in_brackets,
    mean_interval,
    mean_text,
    more_cases,
    percent,
    share_interval,
    share_text,
)


class OverviewCell(NamedTuple):
    """One table cell of a target: a value and a line below it."""

    said: str
    below: str = ""


class OverviewColumn(NamedTuple):
    """A column: a heading and one cell per target."""

    heading: str
    cells: tuple[OverviewCell, ...]


def overview_columns(found: Overview) -> list[OverviewColumn]:
    """Columns of the table of targets, names first; columns without tests are left out."""
    standings = found.standings
    columns = [
        OverviewColumn("target", tuple(OverviewCell(one_line(standing.target, 60) or GAP) for standing in standings)),
        OverviewColumn("tests", tuple(OverviewCell(f"{standing.tests.trials:,}") for standing in standings)),
    ]
    portions = {
        "compliant" if found.has_compliance else "passed": [standing.tests for standing in standings],
        "positive": [standing.positive for standing in standings],
        "negative": [standing.negative for standing in standings],
        "baseline": [standing.baseline for standing in standings],
        "valid": [standing.valid for standing in standings],
        "counted": [standing.counted for standing in standings] if _leaves_out(found) else [],
    }
    for heading, several in portions.items():
        if _is_judged(found) and any(portion.trials for portion in several):
            columns.append(OverviewColumn(heading, tuple(map(_portion, several))))
    return columns + list(_metric_columns(standings))


def _is_judged(found: Overview) -> bool:
    """Return whether any output was judged as passed or failed."""
    return any(s.tests.compliant.n or s.baseline.compliant.n for s in found.standings)


def _leaves_out(found: Overview) -> bool:
    """Return whether the counted tests differ from all tests and from the valid ones."""
    return any(s.counted.trials not in (s.tests.trials, s.valid.trials) for s in found.standings)


def _portion(portion: TestPortion) -> OverviewCell:
    rate = portion.compliant
    if not rate.n:
        return OverviewCell(GAP)
    return OverviewCell(f"{share_text(rate)}  {percent(rate.value)}", share_interval(rate.interval))


def _metric_columns(standings: Iterable[TargetFigures]) -> Iterator[OverviewColumn]:
    rows = [{metric.name: metric for metric in standing.metrics} for standing in standings]
    for name in dict.fromkeys(name for row in rows for name in row):
        metrics = [row.get(name) for row in rows]
        lower = any(metric is not None and metric.direction == "lower" for metric in metrics)
        yield OverviewColumn(one_line(name, 40) + (" ↓" if lower else ""), tuple(map(_metric, metrics)))


def _metric(metric: MetricSummary | None) -> OverviewCell:
    return (
        OverviewCell(GAP)
        if metric is None or not metric.n
        else OverviewCell(f"n {metric.n:,}  {mean_text(metric)}", mean_interval(metric))
    )


def overview_remarks(found: Overview) -> list[str]:
    """Notes below the table, one sentence each."""
    decides = "keep to the rules" if found.has_compliance else "pass"
    standings = found.standings
    judged = _is_judged(found)
    sure = f"{100 * found.level:g} % intervals below them"
    said = [f"Shares are of the outputs that {decides}, of those judged; {sure}." if judged else f"Means with {sure}."]
    if found.split and judged:
        said.append(
            "Positive tests are about a rule, negative ones about its inverse; baseline tests were made without rules."
        )
    if judged and any(standing.valid.trials for standing in standings):
        said.append("Valid are tests whose input was found to keep to the input specification.")
    if _leaves_out(found):
        said.append("Counted are tests whose input is not marked invalid, and whose rule is not marked ungrounded.")
    for standing in standings:
        missing = [f"{standing.unscored:,} unscored" if standing.unscored else ""]
        missing.append(count(standing.errors, "error") if standing.errors else "")
        if text := ", ".join(filter(None, missing)):
            said.append(f"{one_line(standing.target, 60)}: {text}.")
    return said


def differences_title(found: Overview) -> str:
    """Heading of `difference_lines`."""
    standings, which = found.standings, "the counted tests"
    if not _leaves_out(found):
        is_all = all(standing.counted.trials == standing.tests.trials for standing in standings)
        which = "all tests" if is_all else "the valid tests"
    sure = f"{100 * found.level:g} % intervals"
    pairs = len(standings) * (len(standings) - 1) // 2
    several = f" that hold for all {pairs} pairs together" if pairs > 1 else ""
    return f"differences on {which}, paired by case, in points, with {sure}{several}"


def difference_lines(found: Overview) -> list[tuple[str, str]]:
    """List each pair of targets and their difference."""
    return [(_pair(d), _difference(d)) for d in found.differences]


def _pair(found: Difference) -> str:
    metric = f"{one_line(found.metric, 40)}: " if found.metric else ""
    return f"{metric}{one_line(found.first, 40)} against {one_line(found.second, 40)}"


def _difference(found: Difference) -> str:
    verdicts = {
        "better": "better",
        "worse": "worse",
        "same": f"the same within {100 * found.margin:g} points",
        "cannot tell": "cannot tell",
    }
    said = f"{verdicts[found.outcome]}, {100 * (found.value or 0.0):+z.1f}{interval_in_brackets(found.interval, '+z.1f', 100)}"
    turned = f"ahead on {found.up:,}, behind on {found.down:,} of {count(found.n, 'test')}"
    alone = f", {count(found.alone, 'test')} judged on one of them only" if found.alone else ""
    ends = found.interval.ends
    is_apart = ends is not None and (ends[0] > 0 or ends[1] < 0)
    p = found.p if found.adjusted is None else found.adjusted
    luck = (
        f", which may be chance (p = {p:z.2g})" if found.outcome == "cannot tell" and is_apart and p is not None else ""
    )
    return f"{said}{luck}; {turned}{alone}{_what_would_show(found)}"


def _what_would_show(found: Difference) -> str:
    """State the smallest detectable difference and how many more tests would decide; empty if one was found."""
    if found.outcome not in ("same", "cannot tell"):
        return ""
    if found.judged_outcome != found.outcome:
        return f"; {count(found.missing, 'missing result')} could turn the verdict"
    tests = count(found.n, "test")
    if found.smallest is None:
        can = f"{tests} cannot detect any difference"
    else:
        can = f"{tests} can only detect {100 * found.smallest:z.1f} points or more"
    more = more_cases(found)
    more = more and f"; {more} more would decide"
    return f"; {can}{more}"


def disagreement_lines(run: Run) -> list[tuple[str, str]]:
    """List how often judges and automatic checks of the same rules disagree."""
    return [(_rule_of(found), _disagreed(found)) for found in disagreements(run) if found.compared]


def _rule_of(found: Disagreement) -> str:
    judge = one_line(found.judge, 60)
    return judge if found.rule is None else f"{judge}, rule {found.rule} ({one_line(found.check, 60)})"


def _disagreed(found: Disagreement) -> str:
    said = f"agree on {found.agreed:,} of {count(found.compared, 'output')}"
    parts = []
    if found.missed:
        parts.append(f"the judge passed {found.missed:,} that break a check")
    if found.alone:
        parts.append(f"failed {found.alone:,} that keep to every check")
    left = f"; {found.left_out:,} not comparable" if found.left_out else ""
    return f"{said}{': ' if parts else ''}{', '.join(parts)}{left}"
