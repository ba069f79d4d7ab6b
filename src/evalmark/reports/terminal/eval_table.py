"""Terminal summary of the evals of a test run: how cases ended, and metric means."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark.core.money import cost
from evalmark.core.text import clean, count, one_line
from evalmark.core.values.run import Run
from evalmark.core.values.score import Result
from evalmark.core.values.spending import Spending, total_spending
from evalmark.reports.text import comparison, judges, numbers, titles
from evalmark.reports.text.numbers import mean_text
from evalmark.reports.text.titles import exclusion_text
from evalmark.reports.text.verdicts import tally_text
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.comparison.compare import compare
from evalmark.stats.comparison.rule_caveats import gate_caveats
from evalmark.stats.summary.gate import GateVerdict
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.summary import SummaryGroup

from .console import DEFAULT, TerminalStyle, content_width, gate_table, render

_SHOWN = 5
"""Most changed cases listed by name."""


def eval_screen(
    run: Run,
    costs: Mapping[str, Sequence[Spending]],
    style: TerminalStyle = DEFAULT,
    *,
    verdict: GateVerdict | None = None,
    baseline: Run | None = None,
) -> str:
    """Show each eval's cases, pass rate, means, intervals and cost, and the gate.

    `costs` maps datasets to the spending of their calls; without a `verdict` no gate is shown, and with a
    `baseline` each eval lists its changed cases.
    """
    summary = summarise(run)
    against = {} if baseline is None else _by_dataset(run, baseline)
    parts: list[RenderableType] = []
    told: set[str] = set()
    for group in summary.groups:
        parts += [Text("")] if parts else []
        parts += _eval(group, costs.get(group.dataset, ()), style)
        if group.dataset in against and not group.left_out:
            parts += _compared(against[group.dataset], told, style.flags)
    if baseline is not None:
        parts += [Text(f"! {clean(said)}", style="yellow") for said in gate_caveats(run, baseline)]
    # Sorted: the order of evals depends on which worker finished first.
    if said := _intervals(sorted(titles.interval_methods(summary.metrics))):
        parts += [Text(""), Text(said, style="dim")]
    parts += [Text(f"note: {clean(note)}", style="dim") for note in run.notes]
    if verdict is not None:
        parts += [Text("")] if parts else []
        parts.append(gate_table(verdict))
    return render(parts, style).removeprefix("\n")


def _eval(group: SummaryGroup, spent: Sequence[Spending], style: TerminalStyle) -> Iterable[RenderableType]:
    tally = group.tally
    color = "green" if tally.passed + tally.ungated == tally.trials else "red" if tally.failed else "yellow"
    line = Table.grid(expand=True, padding=(0, 2, 0, 0))
    line.add_column(ratio=1, overflow="fold")
    line.add_column(justify="right", no_wrap=True)
    repeats = f" x {tally.trials / tally.cases:z.3g}" if tally.trials > tally.cases else ""
    head = Text(one_line(group.dataset, 200), style="bold")
    head.append(exclusion_text(group))
    head.append(f"   {count(tally.cases, 'case')}{repeats}", style="not bold")
    all_of_it = total_spending(spent)
    line.add_row(head, Text(cost(all_of_it) if any_spent(all_of_it) else ""))
    yield line
    ending = Text(tally_text(group.tally) or "not gated", style=color)
    yield Padding(ending, (0, 0, 0, 2))
    if group.metrics:
        yield Padding(_metrics(group, style), (0, 0, 0, 2))
    yield from (Padding(Text(f"{name}  {said}"), (0, 0, 0, 2)) for name, said in judges.repeat_lines(group))


def _by_dataset(run: Run, baseline: Run) -> dict[str, Comparison]:
    """Compare each dataset of a run with the same one of an earlier run."""
    now, before = _results(run), _results(baseline)
    return {
        # The gate is of the whole run, so no part is held to it.
        name: compare(
            replace(run, results=results, gate=None), replace(baseline, results=before.get(name, []), gate=None)
        )
        for name, results in now.items()
    }


def _results(run: Run) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in run.results:
        found.setdefault(result.trial.dataset, []).append(result)
    return found


def _compared(found: Comparison, told: set[str], flags: str) -> Iterable[RenderableType]:
    """Show the changes since the baseline; warnings already in `told` are not repeated."""
    sentence, command = comparison.rescore_hint(found)
    restoring = f"{sentence} {command}{flags}" if command else sentence
    for said in filter(None, (*found.warnings, restoring)):
        if said not in told:
            yield Padding(Text(f"! {clean(said)}", style="yellow"), (0, 0, 0, 2))
            told.add(said)
    against = f"against {one_line(found.baseline)}"
    if not found.targets:
        yield Padding(Text(f"{against}: not comparable"), (0, 0, 0, 2))
    for target in found.targets:
        said, outcome = comparison.summary_line(target)
        color = {"worse": "red", "better": "green"}.get(outcome, "default")
        yield Padding(Text(f"{against}: {said}", style=color), (0, 0, 0, 2))
        moved = comparison.summary_cases(target).flips
        for word, flips in (
            ("worse", [f for f in moved if f.is_worse]),
            ("better", [f for f in moved if not f.is_worse]),
        ):
            if flips:
                more = f" and {len(flips) - _SHOWN:,} more" if len(flips) > _SHOWN else ""
                listed = ", ".join(map(comparison.flip_name, flips[:_SHOWN]))
                yield Padding(Text(f"{word}: {listed}{more}"), (0, 0, 0, 4))
        yield from (Padding(Text(line), (0, 0, 0, 4)) for line in comparison.decided_metrics(target))


def any_spent(spent: Spending) -> bool:
    """Return whether any model was called."""
    return bool(spent.calls or spent.replayed or spent.failed)


def _metrics(group: SummaryGroup, style: TerminalStyle) -> Table:
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(overflow="fold", max_width=max(20, content_width(style) - 44))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    for metric in group.metrics:
        lower = " ↓" if metric.direction == "lower" else ""
        spread = Text(numbers.mean_interval(metric), style="dim")
        table.add_row(f"{one_line(metric.name, 80)}{lower}", mean_text(metric), spread, f"n {metric.n:,}")
    return table


def _intervals(methods: Iterable[str]) -> str:
    """List the interval methods, and why some metrics have no interval."""
    found: list[str] = []
    none: list[str] = []
    for method in methods:
        why = method.removeprefix("none: ")
        (found if why == method else none).append(why)
    told = [f"95 % intervals: {'; '.join(found)}."] if found else []
    told += [f"No interval: {'; '.join(none)}."] if none else []
    return " ".join(told)
