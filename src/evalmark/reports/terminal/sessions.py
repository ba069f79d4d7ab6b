"""Terminal text of recorded sessions: a list, or one in full with its labels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from evalmark.core.money import money
from evalmark.core.text import clean, count, cut, display_text, one_line, unwrap_single_input
from evalmark.core.values.label import Label, about_span, current_labels
from evalmark.core.values.session import Session, Span
from evalmark.reports.text.numbers import duration
from evalmark.reports.text.transcripts import tokens_used
from evalmark.storage.sessions.store import RecordedSession
from evalmark.storage.sessions.trees import in_order

from .console import COLORS, DEFAULT, MARKS, FieldList, TerminalStyle, content_width, indented, plain_lines, render

_LINES = 400
"""Longest field of an answer, in characters per column."""
_STEP_LINES = 4
"""The same for a step."""
_TEXTS = ("session", "project", "started", "input")
"""Left-aligned columns; others are right-aligned."""
_MOST_PROJECT, _LEAST_PROJECT = 40, 12
"""Greatest and least width of a project name."""
_MOST_INPUT, _LEAST_INPUT, _NARROW_INPUT = 120, 24, 10
"""Widths of the first input: greatest, least beside a date, and least."""
_DEEPEST = 8
"""Deepest indentation of steps."""


def session_list_screen(sessions: Sequence[RecordedSession], style: TerminalStyle = DEFAULT) -> str:
    """List sessions, one per line; narrow terminals shorten or drop columns."""
    if not sessions:
        return render([Text("No sessions are recorded.")], style)
    projects = {one.session.project for one in sessions}
    title = f"project {one_line(sessions[0].session.project, _MOST_PROJECT)}" if len(projects) == 1 else ""
    columns = _fitting({heading: [heading, *cells] for heading, cells in _columns(sessions).items()}, style)
    widths = {heading: _widest(cells) for heading, cells in columns.items()}
    header, *lines = [
        _line(dict(zip(columns, row, strict=True)), widths) for row in zip(*columns.values(), strict=True)
    ]
    # A table of ten thousand rows takes seconds to draw; these lines have neither colours nor breaks.
    above = [Text(title, style="bold"), Text("")] if title else []
    return render([*above, Text(header, style="dim")], style) + plain_lines(lines, style)


def _columns(sessions: Sequence[RecordedSession]) -> dict[str, list[str]]:
    return {
        "session": [one.session.id for one in sessions],
        "project": [one_line(one.session.project, _MOST_PROJECT) for one in sessions],
        "started": [_when(one.session.started) for one in sessions],
        "input": [
            one_line(unwrap_single_input(one.first_input), _MOST_INPUT) if one.first_input is not None else ""
            for one in sessions
        ],
        "answers": [f"{one.answers:,}" for one in sessions],
        "failed": [f"{one.failed:,}" for one in sessions],
        "labels": [f"{one.labels:,}" for one in sessions],
        "dropped": [f"{one.session.dropped:,}" for one in sessions],
    }


def _fitting(columns: dict[str, list[str]], style: TerminalStyle) -> dict[str, list[str]]:
    """Choose the columns that fit, of those that say something."""
    nothing = {"dropped"} if {*columns["dropped"][1:]} == {"0"} else set[str]()
    nothing |= {"project"} if len({*columns["project"][1:]}) == 1 else set()  # named once, above the list
    dateless = nothing | {"started"}
    for without, least_input in ((nothing, _LEAST_INPUT), (dateless, _NARROW_INPUT), (dateless | {"input"}, 0)):
        fitting = {heading: cells for heading, cells in columns.items() if heading not in without}
        others = sum(_widest(cells) + 2 for heading, cells in fitting.items() if heading not in ("project", "input"))
        available = content_width(style) - others
        least = min(least_input, _widest(columns["input"])) + 2 if least_input else 0
        longest = _widest(columns["project"]) if "project" in fitting else -2  # neither column nor gap
        project = min(longest, max(available - least, _LEAST_PROJECT))
        if available - least >= min(_LEAST_PROJECT, longest):
            break
    cut_to = {"project": project, "input": available - project - 2}
    return {
        heading: [_cut_to(cell, cut_to[heading]) for cell in cells] if heading in cut_to else cells
        for heading, cells in fitting.items()
    }


def _widest(cells: Iterable[str]) -> int:
    return max(map(cell_len, cells))


def _cut_to(text: str, columns: int) -> str:
    """Cut a text to a number of columns; some characters take two."""
    while cell_len(text) > columns:
        text = cut(text, len(text) - max(1, (cell_len(text) - columns) // 2))
    return text


def _line(row: Mapping[str, str], widths: Mapping[str, int]) -> str:
    cells = [
        text + " " * (widths[heading] - cell_len(text)) if heading in _TEXTS else text.rjust(widths[heading])
        for heading, text in row.items()
    ]
    return "  ".join(cells)


def session_screen(session: Session, labels: Iterable[Label] = (), style: TerminalStyle = DEFAULT) -> str:
    """Show a session in full: answers, steps and the history of labels."""
    facts = [one_line(session.project, 60), f"{_when(session.started)} UTC", count(len(session.answers), "answer")]
    facts += [f"{session.dropped:,} spans dropped"] if session.dropped else []
    parts: list[RenderableType] = [Text.assemble((f"session {session.id}", "bold"), f"  {' · '.join(facts)}")]
    if session.metadata:
        text = cut(display_text(session.metadata), style.width * _STEP_LINES)
        parts.append(indented(Text(text, style="dim")))
    for span, depth in in_order(session.spans):
        parts += [Text(""), *_span(span, labels, style, depth)]
    return render(parts, style)


def span_screen(span: Span, labels: Iterable[Label] = (), style: TerminalStyle = DEFAULT) -> str:
    """Show a span in full with its history of labels."""
    heading = Text(f"{one_line(span.project, 60)} · session {span.session}", style="dim")
    return render([heading, *_span(span, labels, style, 0)], style)


def labels_screen(labels: Iterable[Label], style: TerminalStyle = DEFAULT) -> str:
    """Show the history of labels, one per line; empty without labels."""
    labels = list(labels)
    if not labels:
        return ""
    table = FieldList()
    _add_labels(table, labels, style)
    return render([indented(table)], style)


def _span(span: Span, labels: Iterable[Label], style: TerminalStyle, depth: int) -> Iterator[RenderableType]:
    kind = "fail" if span.error is not None else "pass"
    took = [] if span.seconds is None else [duration(span.seconds)]
    took += [] if span.usage is None else [tokens_used(span.usage)]
    took += [] if span.cost is None else [money(span.cost)]
    title = " ".join(
        dict.fromkeys(filter(None, ("answer" if not span.parent else span.kind, one_line(span.name, 100))))
    )
    heading = Text.assemble((f"{MARKS[kind]} ", COLORS[kind]), (span.id, "bold"), f"  {' · '.join([title, *took])}")
    table = FieldList()
    most = style.width * (_STEP_LINES if span.parent else _LINES)
    rows = [("input", span.input), ("output", span.output), ("error", span.error), ("model", span.model or None)]
    rows += [("prompt", span.template or None), *(("context", context) for context in span.contexts or ())]
    rows += [("metadata", span.metadata or None)]
    for name, value in rows:
        if value is not None:
            table.add_row(name, Text(cut(display_text(value), most), style=COLORS["error"] if name == "error" else ""))
    _add_labels(table, [label for label in labels if label.about == about_span(span.id)], style)
    deep = 2 * min(depth, _DEEPEST)
    yield indented(heading, deep)
    yield indented(table, deep + 2)


def _add_labels(table: FieldList, labels: Sequence[Label], style: TerminalStyle) -> None:
    holding = set(map(id, current_labels(labels)))
    for label in labels:
        parts = [] if label.liked is None else ["up" if label.liked else "down"]
        parts += [] if label.score is None else [f"score {label.score:g}"]
        parts += ["withdrawn"] if label.withdrawn else []
        holds = id(label) in holding or label.withdrawn
        about = label.about.split("/", 2)
        what = f"{one_line(about[2], 20)} label" if label.about.startswith("score:") and len(about) > 2 else "label"
        line = Text(
            f"{', '.join([*parts, one_line(label.by, 60)])}, {_when(label.created)}", style="" if holds else "dim"
        )
        line.append("" if holds else " (superseded)")
        line.append(f"  {cut(clean(label.comment), style.width * _STEP_LINES)}" if label.comment else "")
        table.add_row(what, line)


def _when(moment: str) -> str:
    return moment[:19].replace("T", " ")
