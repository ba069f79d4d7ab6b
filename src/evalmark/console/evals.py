"""The evals of a test run, for the end of its output: how each one's cases ended, and the mean of each of its metrics."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark import wording
from evalmark.stats import GateVerdict, Group, summarise
from evalmark.values import Run, Spending, count
from evalmark.wording import clean, one_line
from evalmark.wording.spending import cost, together

from .drawing import COLORS, DEFAULT, Look, drawn, inner


def evals(
    run: Run,
    costs: Mapping[str, Sequence[Spending]],
    look: Look = DEFAULT,
    *,
    verdict: GateVerdict | None = None,
) -> str:
    """Name, cases, pass rate, means with their intervals and cost of each eval, and what the gate says.

    `costs` holds what the calls of each dataset came to; without a `verdict` nothing is said of a gate.
    """
    summary = summarise(run)
    parts: list[RenderableType] = []
    for group in summary.groups:
        parts += [Text("")] if parts else []
        parts += _eval(group, costs.get(group.dataset, ()), look)
    if methods := wording.methods(summary.metrics):
        parts += [Text(""), Text(f"95 % intervals: {'; '.join(methods)}.", style="dim")]
    parts += [Text(f"note: {clean(note)}", style="dim") for note in run.notes]
    if verdict is not None:
        parts += [Text("")] if parts else []
        parts += _gate(verdict)
    return drawn(parts, look).removeprefix("\n")


def _eval(group: Group, spent: Sequence[Spending], look: Look) -> Iterable[RenderableType]:
    tally = group.tally
    color = "green" if tally.passed + tally.ungated == tally.trials else "red" if tally.failed else "yellow"
    line = Table.grid(expand=True, padding=(0, 2, 0, 0))
    line.add_column(ratio=1, overflow="fold")
    line.add_column(justify="right", no_wrap=True)
    repeats = f" x {tally.trials / tally.cases:.3g}" if tally.trials > tally.cases else ""
    head = Text(one_line(group.dataset, 200), style="bold")
    head.append(f"   {count(tally.cases, 'case')}{repeats}", style="not bold")
    together_spent = together(spent)
    line.add_row(head, Text(cost(together_spent) if any_spent(together_spent) else ""))
    yield line
    yield Text(f"  {wording.endings(group.tally) or 'nothing could pass or fail'}", style=color)
    if group.metrics:
        yield Padding(_metrics(group, look), (0, 0, 0, 2))


def any_spent(spent: Spending) -> bool:
    """Whether a model was asked at all."""
    return bool(spent.calls or spent.replayed or spent.failed)


def _metrics(group: Group, look: Look) -> Table:
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(overflow="fold", max_width=max(20, inner(look) - 34))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for metric in group.metrics:
        lower = " ↓" if metric.direction == "lower" else ""
        spread = Text(wording.spread(metric), style="dim")
        table.add_row(f"{one_line(metric.name, 80)}{lower}", wording.centre(metric), spread)
    return table


def _gate(verdict: GateVerdict) -> Iterable[Text]:
    opening = f"Gate {wording.outcome(verdict)}: "
    for number, reason in enumerate(verdict.reasons):
        line = Text(opening if not number else " " * len(opening), style=f"bold {COLORS[verdict.outcome]}")
        yield line.append(clean(reason), style="not bold default")
