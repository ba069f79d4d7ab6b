"""The evals of a test run, for the end of its output: how each one's cases ended, and the mean of each of its metrics."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark import wording
from evalmark.stats import Changes, GateVerdict, Group, changes, summarise
from evalmark.values import Run, Spending, count, in_all
from evalmark.wording import clean, one_line
from evalmark.wording.spending import cost

from .drawing import COLORS, DEFAULT, Look, drawn, inner

_SHOWN = 5
"""Of the cases that changed, by name."""


def evals(
    run: Run,
    costs: Mapping[str, Sequence[Spending]],
    look: Look = DEFAULT,
    *,
    verdict: GateVerdict | None = None,
    baseline: Run | None = None,
) -> str:
    """Name, cases, pass rate, means with their intervals and cost of each eval, and what the gate says.

    `costs` holds what the calls of each dataset came to; without a `verdict` nothing is said of a gate, and with a
    `baseline` each eval says which of its cases came out otherwise there.
    """
    summary = summarise(run)
    compared = {} if baseline is None else changes(run, baseline)
    parts: list[RenderableType] = []
    for group in summary.groups:
        parts += [Text("")] if parts else []
        parts += _eval(group, costs.get(group.dataset, ()), look)
        if baseline is not None and group.dataset in compared and not group.left_out:
            parts += _compared(compared[group.dataset], group.dataset, run, baseline)
    if said := _intervals(wording.methods(summary.metrics)):
        parts += [Text(""), Text(said, style="dim")]
    parts += [Text(f"note: {clean(note)}", style="dim") for note in run.notes]
    if verdict is not None:
        parts += [Text("")] if parts else []
        parts.append(_gate(verdict))
    return drawn(parts, look).removeprefix("\n")


def _eval(group: Group, spent: Sequence[Spending], look: Look) -> Iterable[RenderableType]:
    tally = group.tally
    color = "green" if tally.passed + tally.ungated == tally.trials else "red" if tally.failed else "yellow"
    line = Table.grid(expand=True, padding=(0, 2, 0, 0))
    line.add_column(ratio=1, overflow="fold")
    line.add_column(justify="right", no_wrap=True)
    repeats = f" x {tally.trials / tally.cases:.3g}" if tally.trials > tally.cases else ""
    head = Text(one_line(group.dataset, 200), style="bold")
    head.append(wording.apart(group))
    head.append(f"   {count(tally.cases, 'case')}{repeats}", style="not bold")
    all_of_it = in_all(spent)
    line.add_row(head, Text(cost(all_of_it) if any_spent(all_of_it) else ""))
    yield line
    ending = Text(wording.endings(group.tally) or "nothing could pass or fail", style=color)
    yield Padding(ending, (0, 0, 0, 2))
    if group.metrics:
        yield Padding(_metrics(group, look), (0, 0, 0, 2))


def _compared(found: Changes, dataset: str, run: Run, baseline: Run) -> Iterable[RenderableType]:
    """What changed since the baseline, and whether that can be luck."""
    parts = [f"{len(found.worse):,} worse", f"{len(found.better):,} better", f"{found.same:,} the same"]
    if found.alone:
        parts.append(f"{found.alone:,} not comparable")
    luck = "" if found.p is None else f" (sign test: p = {found.p:.2g})"
    color = {"worse": "red", "better": "green"}.get(found.outcome, "default")
    said = Text(f"against {one_line(baseline.id)}: {', '.join(parts)}: {found.outcome}{luck}", style=color)
    yield Padding(said, (0, 0, 0, 2))
    names = _names(run, dataset, {*found.worse[:_SHOWN], *found.better[:_SHOWN]})
    for word, cases in (("worse", found.worse), ("better", found.better)):
        if cases:
            more = f" and {len(cases) - _SHOWN:,} more" if len(cases) > _SHOWN else ""
            listed = ", ".join(names.get(case, one_line(case, 60)).strip() for case in cases[:_SHOWN])
            yield Padding(Text(f"{word}: {listed}{more}"), (0, 0, 0, 4))


def _names(run: Run, dataset: str, wanted: Collection[str]) -> dict[str, str]:
    """What cases are called: by their input, where their id was made of it."""
    cases = (result.trial.case for result in run.results if result.trial.dataset == dataset)
    return {
        case.id: wording.quoted(case.input) if case.has_made_id else one_line(case.id, 60)
        for case in cases
        if case.id in wanted
    }


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


def _intervals(methods: Iterable[str]) -> str:
    """How the intervals were found, and why some metrics have none."""
    found: list[str] = []
    none: list[str] = []
    for method in methods:
        why = method.removeprefix("none: ")
        (found if why == method else none).append(why)
    told = [f"95 % intervals: {'; '.join(found)}."] if found else []
    told += [f"No interval: {'; '.join(none)}."] if none else []
    return " ".join(told)


def _gate(verdict: GateVerdict) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True, style=f"bold {COLORS[verdict.outcome]}")
    table.add_column(overflow="fold")
    for number, reason in enumerate(verdict.reasons):
        table.add_row("" if number else f"Gate {wording.outcome(verdict)}:", clean(reason))
    return table
