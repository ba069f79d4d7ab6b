"""Terminal summary of the evals of a test run: how cases ended, and metric means."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from evalmark.core.money import cost
from evalmark.core.text import clean, count, one_line
from evalmark.core.values.run import Gate, Run
from evalmark.core.values.score import Result
from evalmark.core.values.spending import Spending, priced_spending, total_spending
from evalmark.reports.text import changed_cases, judges, numbers, titles
from evalmark.reports.text import comparison as comparison_text
from evalmark.reports.text.change_words import CASE_WORDS, OUTCOME_KINDS
from evalmark.reports.text.gate_marks import needed_mean
from evalmark.reports.text.numbers import mean_beside
from evalmark.reports.text.titles import exclusion_text
from evalmark.reports.text.verdicts import tally_text
from evalmark.stats.comparison.change import Comparison
from evalmark.stats.comparison.compare import compare
from evalmark.stats.comparison.rule_caveats import gate_caveats
from evalmark.stats.summary.gate import GateVerdict
from evalmark.stats.summary.summarise import summarise
from evalmark.stats.summary.summary import SummaryGroup

from .console import COLORS, DEFAULT, TerminalStyle, content_width, gate_lines, indented, render, title_line

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
    printed: set[str] = set()
    groups = Counter(group.dataset for group in summary.groups)
    for group in summary.groups:
        parts += [Text("")] if parts else []
        target = group.target if groups[group.dataset] > 1 else ""  # one file may test several targets
        parts += _eval(group, costs.get(group.dataset, ()), target, run.gate, style)
        if group.dataset in against and not group.left_out:
            parts += _compared(against[group.dataset], printed, style.flags)
    if baseline is not None:
        parts += [Text(f"! {clean(intervals)}", style="yellow") for intervals in gate_caveats(run, baseline)]
    if notes := titles.metric_table_notes(summary.metrics):
        parts += [Text(""), Text(notes, style="dim")]
    parts += [Text(f"note: {clean(note)}", style="dim") for note in run.notes]
    if verdict is not None:
        parts += [Text("")] if parts else []
        parts.append(gate_lines(verdict))
    return render(parts, style).removeprefix("\n")


def _eval(
    group: SummaryGroup, spent: Sequence[Spending], target: str, gate: Gate | None, style: TerminalStyle
) -> Iterable[RenderableType]:
    tally = group.tally
    color = "green" if tally.passed + tally.ungated == tally.trials else "red" if tally.failed else "yellow"
    repeats = f" x {tally.trials / tally.cases:z.3g}" if tally.trials > tally.cases else ""
    head = Text(one_line(group.dataset, 200), style="bold")
    head.append(f" on {one_line(target, 200)}" if target else "")
    head.append(exclusion_text(group))
    head.append(f"   {count(tally.cases, 'case')}{repeats}", style="not bold")
    all_of_it = total_spending(priced_spending(spent))
    yield title_line(head, Text(cost(all_of_it) if any_spent(all_of_it) else ""))
    ending = Text(tally_text(group.tally, gate) or "not gated", style=color)
    yield indented(ending)
    if group.metrics:
        yield indented(_metrics(group, gate, style))
    yield from (indented(Text(f"{name}  {line}")) for name, line in judges.repeat_lines(group))


def _by_dataset(run: Run, baseline: Run) -> dict[str, Comparison]:
    """Compare each dataset of a run with the same one of an earlier run."""
    now, before = _results(run), _results(baseline)
    return {
        # The gate applies to the whole run, not to its parts.
        name: compare(
            replace(run, results=results, gate=None), replace(baseline, results=before.get(name, []), gate=None)
        )
        for name, results in now.items()
    }


def _results(run: Run) -> dict[str, list[Result]]:
    results: dict[str, list[Result]] = {}
    for result in run.results:
        results.setdefault(result.trial.dataset, []).append(result)
    return results


def _compared(comparison: Comparison, printed: set[str], flags: str) -> Iterable[RenderableType]:
    """Show the changes since the baseline; warnings already in `printed` are not repeated."""
    sentence, command = comparison_text.rescore_hint(comparison)
    restoring = f"{sentence} {command}{flags}" if command else sentence
    for said in filter(None, (*comparison.warnings, restoring)):
        if said not in printed:
            yield indented(Text(f"! {clean(said)}", style="yellow"))
            printed.add(said)
    against = f"against {one_line(comparison.baseline)}"
    if not comparison.targets:
        yield indented(Text(f"{against}: not comparable"))
    for target in comparison.targets:
        said, outcome = changed_cases.summary_line(target)
        color = COLORS[OUTCOME_KINDS[outcome]]
        yield indented(Text(f"{against}: {said}", style=color))
        changed = changed_cases.summary_cases(target).flips
        for word, flips in (
            (CASE_WORDS["worse"], [f for f in changed if f.is_worse]),
            (CASE_WORDS["better"], [f for f in changed if not f.is_worse]),
        ):
            if flips:
                more = f" and {len(flips) - _SHOWN:,} more" if len(flips) > _SHOWN else ""
                listed = ", ".join(map(changed_cases.flip_name, flips[:_SHOWN]))
                yield indented(Text(f"{word}: {listed}{more}"), 4)
        yield from (indented(Text(line), 4) for line in changed_cases.decided_metrics(target))


def any_spent(spent: Spending) -> bool:
    """Return whether any model was called."""
    return bool(spent.calls or spent.replayed or spent.failed)


def _metrics(group: SummaryGroup, gate: Gate | None, style: TerminalStyle) -> Table:
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(overflow="fold", max_width=max(20, content_width(style) - 44))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    for metric in group.metrics:
        lower = " ↓" if metric.direction == "lower" else ""
        spread = Text(numbers.mean_interval(metric), style="dim")
        table.add_row(
            f"{one_line(metric.name, 80)}{lower}",
            mean_beside(metric, needed_mean(metric, gate)),
            spread,
            f"n {metric.n:,}",
        )
    return table
