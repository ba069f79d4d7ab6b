"""Terminal text of `plan --detect`: how many cases a comparison needs."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalmark.core.text import clean, one_line
from evalmark.reports.text.numbers import GAP
from evalmark.stats.comparison.sample_size import RANGE, CasesNeeded, MetricSampleSize, Range, SampleSizePlan

from .console import DEFAULT, TerminalStyle, render


def sample_size_screen(plan: SampleSizePlan, style: TerminalStyle = DEFAULT) -> str:
    """Show how many cases detect a difference, for each metric and number of repeats."""
    title = f"To detect a difference of {plan.effect:g} with a power of {100 * plan.power:g} %"
    parts: list[RenderableType] = [Text(title, style="bold"), Text("")]
    if not plan.metrics:
        parts += [Text("The earlier runs have no metric with values from 0 to 1 in both runs.", style="yellow")]
        return render(parts, style)
    parts += [_table(plan, style), Text("")]
    parts += [Text(line, style="dim") for line in _origin(plan)]
    return render(parts, style)


def _table(plan: SampleSizePlan, style: TerminalStyle) -> Table:
    repeats = sorted({one.repeats for metric in plan.metrics for one in metric.needed})
    table = Table(box=None, padding=(0, 2 if style.width >= 90 else 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("metric", overflow="fold", min_width=8)
    table.add_column("changes by chance", overflow="fold")
    for number in repeats:
        table.add_column(
            "cases" if repeats == [1] else f"cases, {number} repeat{'s' if number > 1 else ''}", justify="right"
        )
    for metric in plan.metrics:
        needed = {one.repeats: one for one in metric.needed}
        cells = [_cases(needed[number]) if number in needed else GAP for number in repeats]
        table.add_row(one_line(metric.metric or "pass rate", 60), _chance(metric), *cells)
    return table


def _cases(needed: CasesNeeded) -> str:
    """Format the number to plan for, with the range that it is the upper end of."""
    return (
        f"{needed.most:,}"
        if needed.fewest == needed.most
        else f"{needed.most:,} ({needed.fewest:,} to {needed.most:,})"
    )


def _chance(metric: MetricSampleSize) -> str:
    if metric.share is not None:
        low, measured, high = (100 * end for end in metric.share)
        source = f"({low:.0f} to {high:.0f})" if metric.cases else "(assumed)"
        return f"{measured:.0f} % of cases change {source}"
    low, measured, high = metric.spread or (0.0, 0.0, 0.0)
    return f"standard deviation {measured:z.2f} ({low:z.2f} to {high:z.2f})"


def _origin(plan: SampleSizePlan) -> Iterator[str]:
    if not plan.runs:
        yield "The share of cases that change by chance is assumed: it takes two complete runs of this suite, the newest ones, with a target in common."
        yield "Run the suite twice without a change, then plan again."
        yield from _clusters(plan)
        if not plan.unit:
            yield "Cases are assumed to be independent; a run is needed to measure how much those of one document, for example, depend on each other."
        return
    yield from _clusters(plan)
    runs = " and ".join(map(clean, plan.runs))
    target = f", target {clean(plan.target)}" if plan.target else ""
    yield (
        f"Measured on {runs}{target}; a real difference between them counts as chance. "
        f"Plan for the first number: the upper end of an {100 * RANGE:g} % range. "
        f"Further cases are assumed to be like those of these runs{'' if plan.unit else ', and independent'}."
    )
    if not plan.is_repeated:
        yield "The runs have no repeats, so the effect of more repeats is unknown, and the table is for one repeat."


def _clusters(plan: SampleSizePlan) -> Iterator[str]:
    """Describe how much the cases of one cluster depend on each other, and what is assumed of it."""
    if not plan.unit:
        return
    unit = clean(plan.unit)
    measured = f", measured on {clean(plan.cluster_run)}" if plan.cluster_run else ""
    yield f"Cases are clustered by {unit}, {plan.cluster_size:.3g} in one on average{measured}. Their correlation within one {unit} (ICC):"
    for metric in {metric.metric: metric for metric in plan.metrics if metric.icc}.values():
        by_chance = "" if metric.chance_icc is None else f", changes by chance {_icc(metric.chance_icc)}"
        values = "scores" if metric.metric and metric.share is None else "passes"
        yield f"  {one_line(metric.metric or 'pass rate', 60)}: {values} {_icc(metric.icc or (0.0, 0.0, 0.0))}{by_chance}"
    chance = "Changes by chance are assumed to be independent. " if plan.cluster_run else ""
    yield f"{chance}Real changes are assumed to have the same correlation within one {unit} as passes."


def _icc(correlation: Range) -> str:
    low, measured, high = correlation
    return f"{measured:.2f} ({low:.2f} to {high:.2f})"
