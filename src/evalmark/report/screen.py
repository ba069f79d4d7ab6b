"""The report for a terminal."""

from collections.abc import Iterable, Mapping
from io import StringIO
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark.stats import GateVerdict, MetricSummary, Summary
from evalmark.stats import Group as Part
from evalmark.values import Result, Run, Score

from . import wording
from .cleaning import clean, cut, one_line, shown
from .options import Look, known

_COLORS = {"pass": "green", "fail": "red", "error": "magenta", "unscored": "yellow", "cannot tell": "yellow"}
_MARKS = {"pass": "✓", "fail": "✗", "error": "!", "unscored": "?", "ungated": "·", "cannot tell": "?"}
_RAISED = "¹²³⁴⁵⁶⁷⁸⁹"
_ASCII = str.maketrans(
    {
        "✓": "+",
        "✗": "x",
        "·": "-",
        "↓": "v",
        wording.DASH: "-",
        "…": "...",
        "≥": ">=",
        "≤": "<=",
        "\u201c": '"',
        "\u201d": '"',
    }
    | dict(zip(wording.BLOCKS, wording.ASCII_BLOCKS, strict=True))
    | dict(zip(_RAISED, "abcdefghi", strict=True))
)
_LINES = 400
"""How much of a field a case shown in full may fill, in characters a column."""
_WIDE = 110
"""From so many columns on, the table has room for the interval of each metric's pass rate."""
_FLEXIBLE = ("name", "target")
"""What a list of runs cuts where it is too long."""
DEFAULT = Look()


def terminal(
    run: Run, look: Look = DEFAULT, *, summary: Summary | None = None, verdict: GateVerdict | None = None
) -> str:
    """A run for a person at a terminal: figures, worst cases, verdict, and how to look again."""
    summary, judged = known(run, summary)
    verdict = verdict or judged
    parts: list[RenderableType] = [_header(run, summary, verdict)]
    for part in summary.groups:
        parts += [Text(""), *_part(part, summary, look)]
    parts += _worst(run, summary, look)
    parts += [Text(""), *(Text(clean(remark), style="yellow") for remark in look.remarks)]
    parts += [*_verdict(verdict), *(Text(f"note: {clean(note)}", style="dim") for note in run.notes)]
    parts += _where(run, summary, look)
    return _drawn(parts, look)


def one_case(result: Result, look: Look = DEFAULT, *, run: Run | None = None) -> str:
    """One trial in full: what was asked and answered, and what every score says."""
    limits = wording.thresholds(run) if run else {}
    case, output = result.trial.case, result.output
    rows = [("asked", case.input), ("expected", case.expected), ("answered", output.value), ("error", output.error)]
    rows += [("context", context) for context in case.contexts_of(output) or ()]
    fields = _fields()
    for label, value in rows:
        if value is not None:
            fields.add_row(label, Text(cut(shown(value), look.width * _LINES)))
    for score in result.scores:
        _add_score(fields, score, limits, None)
    return _drawn([_named(result, run), Padding(fields, (0, 0, 0, 2))], look)


def run_list(runs: Iterable[Run], look: Look = DEFAULT) -> str:
    """Runs, one a line, in the order given; what a narrow terminal has no room for is left out."""
    rows = [_line_of(run, look) for run in runs]
    if not rows:
        return _drawn([Text("No runs yet.")], look)
    widest = {
        heading: max(cell_len(text) for text in (heading, *(row[heading] for row in rows))) for heading in rows[0]
    }
    room = _inner(look) - 2 * (len(widest) - 1) - sum(widest[h] for h in widest if h not in _FLEXIBLE)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for heading, width in widest.items():
        others = min(sum(widest[h] for h in _FLEXIBLE if h in widest and h != heading), (room + 1) // 2)
        most = max(6, room - others) if heading in _FLEXIBLE else width
        justify: Literal["left", "right"] = "right" if heading == "results" else "left"
        table.add_column(heading, justify=justify, no_wrap=True, overflow="ellipsis", max_width=most)
    for row in rows:
        table.add_row(*map(Text, row.values()))
    return _drawn([table], look)


def _line_of(run: Run, look: Look) -> dict[str, str]:
    """What a list says of a run, by its headings."""
    found = {"run": run.id, "created": wording.origin(run)[1], "status": run.status, "name": run.name}
    found |= {"target": run.target, "results": f"{len(run.results):,}"}
    if look.width < 100:
        del found["created"]  # the id begins with it
    if look.width < 80:
        del found["target"]
    return {heading: one_line(text) for heading, text in found.items()}


def _header(run: Run, summary: Summary, verdict: GateVerdict) -> RenderableType:
    line = Table.grid(expand=True)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    ended = f"{_MARKS[verdict.outcome if verdict.gated else 'ungated']} {wording.outcome(verdict)}"
    line.add_row(Text(one_line(run.name), style="bold"), Text(ended, style=f"bold {_color(verdict)}"))
    return Group(
        line,
        Text(" · ".join(wording.facts(run, summary)), style="dim"),
        Text(" · ".join(wording.origin(run)), style="dim"),
    )


def _part(part: Part, summary: Summary, look: Look) -> Iterable[RenderableType]:
    heading = Text(wording.title(part, summary), style="bold")
    heading.append(f"   {wording.endings(part)}", style="not bold")
    yield heading
    if not part.metrics:
        return
    methods = wording.methods(part.metrics)
    marks = {method: _RAISED[index % len(_RAISED)] if len(methods) > 1 else "" for index, method in enumerate(methods)}
    yield Text("")
    yield _table(part.metrics, marks, look)
    notes = [f"{mark} {method}".strip() for method, mark in marks.items()]
    explained = f"95 % intervals: {'; '.join(notes)}."
    if any(metric.direction == "lower" for metric in part.metrics):
        explained += "  ↓ lower is better."
    yield Text(explained, style="dim")


def _table(metrics: Iterable[MetricSummary], marks: Mapping[str, str], look: Look) -> Table:
    table = Table(
        box=None, padding=(0, 2, 0, 0) if look.width >= 90 else (0, 1, 0, 0), pad_edge=False, header_style="dim"
    )
    table.add_column("metric", overflow="fold", min_width=12)
    wide = look.width >= _WIDE
    for heading in ("n", "mean", "95 % interval", "passed", *(["95 % interval"] if wide else []), "unsc.", "err."):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("low   high", no_wrap=True)
    for metric in metrics:
        name = Text(one_line(metric.name, 60))
        name.append(" ↓" if metric.direction == "lower" else "", style="dim")
        if metric.unit:
            name.append(f" {one_line(metric.unit, 16)}", style="dim")
        found = wording.interval(metric.interval, metric.unit) + marks[metric.interval.method]
        table.add_row(
            name,
            f"{metric.n:,}",
            Text(wording.figure(metric.mean, metric.unit), style="bold"),
            found,
            wording.share(metric.pass_rate),
            *([wording.share_interval(metric.pass_rate.interval)] if wide else []),
            _gap(metric.unscored, "yellow"),
            _gap(metric.missing - metric.unscored, "magenta"),
            Text(wording.bars(metric.bins), style="cyan"),
        )
    return table


def _gap(n: int, style: str) -> Text:
    return Text(f"{n:,}", style=style if n else "dim")


def _worst(run: Run, summary: Summary, look: Look) -> list[RenderableType]:
    shown_results = summary.worst[: look.worst]
    if not shown_results:
        return []
    limits = wording.thresholds(run)
    parts: list[RenderableType] = [Text(""), Text("worst cases", style="bold")]
    room = look.width - 27
    for result in shown_results:
        fields = _fields()
        fields.add_row("asked", Text(one_line(result.trial.case.input, room)))
        if result.output.error is None:
            fields.add_row("answered", Text(one_line(result.output.value, room)))
        else:
            fields.add_row("error", Text(one_line(result.output.error, 2 * room), style=_COLORS["error"]))
        for score in wording.telling(result):
            _add_score(fields, score, limits, room)
        parts += [_named(result, run), Padding(fields, (0, 0, 0, 2))]
    return parts


def _named(result: Result, run: Run | None) -> Text:
    verdict = result.verdict
    return Text.assemble((f"{_MARKS[verdict]} ", _COLORS.get(verdict, "dim")), (wording.name_of(result, run), "bold"))


def _fields() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", min_width=20, max_width=30)
    table.add_column(overflow="fold")
    return table


def _add_score(fields: Table, score: Score, limits: Mapping[str, float | None], room: int | None) -> None:
    said = Text(
        wording.standing(score, limits), style=_COLORS.get("fail" if score.passed is False else score.status, "")
    )
    reason = clean(score.reason) if room is None else one_line(score.reason, 2 * room)
    if reason:
        said.append(f"  {reason}", style="not bold default")
    fields.add_row(one_line(score.name, 60), said)
    for sentence, closest in wording.unsupported(score).items():
        text = clean(sentence) if room is None else one_line(sentence, room)
        quoted = Text(f"\u201c{text}\u201d", style="italic")
        fields.add_row("unsupported", quoted.append(f"  {closest}" if closest else "", style="not italic dim"))


def _verdict(verdict: GateVerdict) -> Iterable[Text]:
    opening = f"Gate {wording.outcome(verdict)}: " if verdict.gated else ""
    for index, reason in enumerate(verdict.reasons):
        line = Text(opening if index == 0 else " " * len(opening), style=f"bold {_color(verdict)}")
        yield line.append(clean(reason), style="not bold default")


def _color(verdict: GateVerdict) -> str:
    return _COLORS[verdict.outcome] if verdict.gated else "default"


def _where(run: Run, summary: Summary, look: Look) -> Iterable[Text]:
    more = " --failed" if summary.total.passed < summary.total.trials - summary.total.ungated else ""
    if look.store:
        yield Text(f"Kept in {one_line(look.store)}; look again with: evalmark show {one_line(run.id)}{more}")
        if run.status != "complete" and run.suite:
            yield Text(f"To go on, call it as before and add: --resume {one_line(run.id)}")


def _inner(look: Look) -> int:
    """Columns between the margins; an ellipsis takes three places in ASCII."""
    return look.width - (2 if look.unicode else 8)


def _drawn(parts: Iterable[RenderableType], look: Look) -> str:
    """The parts as text, free of the environment: only `look` decides."""
    stream = StringIO()
    console = Console(
        file=stream,
        width=_inner(look),
        color_system="standard" if look.color else None,
        force_terminal=look.color,
        no_color=not look.color,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(Group(*parts))
    lines = [f"  {line.rstrip()}".rstrip() for line in stream.getvalue().split("\n")]
    text = "\n" + "\n".join(lines)
    return text if look.unicode else text.translate(_ASCII).encode("ascii", "replace").decode("ascii")
