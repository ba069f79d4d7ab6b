"""Terminal text of recorded sessions: a list, or one in full with its labels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark.core.money import money
from evalmark.core.text import clean, count, cut, display_text, one_line, unwrap_single_input
from evalmark.core.values.label import Label, about_span, current_labels
from evalmark.core.values.session import Session, Span
from evalmark.reports.text.numbers import duration
from evalmark.reports.text.transcripts import tokens_used
from evalmark.storage.sessions.store import RecordedSession
from evalmark.storage.sessions.trees import in_order

from .cases import field_table
from .console import COLORS, DEFAULT, MARKS, TerminalStyle, content_width, plain_lines, render

_LINES = 400
"""Longest field of an answer, in characters per column."""
_STEP_LINES = 4
"""The same for a step."""
_TEXTS = ("session", "project", "started", "asked")
"""Left-aligned columns; others are right-aligned."""
_ROOM, _LITTLE_ROOM = 40, 12
"""Greatest and least width of a project name."""
_MOST_ASKED, _ASKED, _LITTLE_ASKED = 120, 24, 10
"""Widths of the first input: greatest, least beside a date, and least."""
_DEEPEST = 8
"""Deepest indentation of steps."""


def session_list_screen(found: Sequence[RecordedSession], style: TerminalStyle = DEFAULT) -> str:
    """List sessions, one per line; narrow terminals shorten or drop columns."""
    if not found:
        return render([Text("No sessions are recorded.")], style)
    columns = _fitting({heading: [heading, *said] for heading, said in _columns(found).items()}, style)
    widths = {heading: _widest(said) for heading, said in columns.items()}
    header, *lines = [
        _line(dict(zip(columns, row, strict=True)), widths) for row in zip(*columns.values(), strict=True)
    ]
    # A table of ten thousand rows takes seconds to draw; these lines have neither colours nor breaks.
    return render([Text(header, style="dim")], style) + plain_lines(lines, style)


def _columns(found: Sequence[RecordedSession]) -> dict[str, list[str]]:
    return {
        "session": [one.session.id for one in found],
        "project": [one_line(one.session.project, _ROOM) for one in found],
        "started": [_when(one.session.started) for one in found],
        "asked": [
            one_line(unwrap_single_input(one.first_input), _MOST_ASKED) if one.first_input is not None else ""
            for one in found
        ],
        "answers": [f"{one.answers:,}" for one in found],
        "failed": [f"{one.failed:,}" for one in found],
        "labels": [f"{one.labels:,}" for one in found],
        "dropped": [f"{one.session.dropped:,}" for one in found],
    }


def _fitting(columns: dict[str, list[str]], style: TerminalStyle) -> dict[str, list[str]]:
    """Choose the columns that fit; a non-zero `dropped` always stays."""
    nothing = {"dropped"} if {*columns["dropped"][1:]} == {"0"} else set()
    dateless = nothing | {"started"}
    for without, asked in (set[str](), _ASKED), (nothing, _ASKED), (dateless, _LITTLE_ASKED), (dateless | {"asked"}, 0):
        fitting = {heading: said for heading, said in columns.items() if heading not in without}
        others = sum(_widest(said) + 2 for heading, said in fitting.items() if heading not in ("project", "asked"))
        room = content_width(style) - others
        least = min(asked, _widest(columns["asked"])) + 2 if asked else 0
        project = min(_widest(columns["project"]), max(room - least, _LITTLE_ROOM))
        if room - least >= min(_LITTLE_ROOM, _widest(columns["project"])):
            break
    cut_to = {"project": project, "asked": room - project - 2}
    return {
        heading: [_cut_to(cell, cut_to[heading]) for cell in said] if heading in cut_to else said
        for heading, said in fitting.items()
    }


def _widest(said: Iterable[str]) -> int:
    return max(map(cell_len, said))


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
        parts.append(
            Padding(Text(cut(display_text(session.metadata), style.width * _STEP_LINES), style="dim"), (0, 0, 0, 2))
        )
    for span, depth in in_order(session.spans):
        parts += [Text(""), *_span(span, labels, style, depth)]
    return render(parts, style)


def span_screen(span: Span, labels: Iterable[Label] = (), style: TerminalStyle = DEFAULT) -> str:
    """Show a span in full with its history of labels."""
    where = Text(f"{one_line(span.project, 60)} · session {span.session}", style="dim")
    return render([where, *_span(span, labels, style, 0)], style)


def labels_screen(labels: Iterable[Label], style: TerminalStyle = DEFAULT) -> str:
    """Show the history of labels, one per line; empty without labels."""
    labels = list(labels)
    if not labels:
        return ""
    table = field_table()
    _add_labels(table, labels, style)
    return render([Padding(table, (0, 0, 0, 2))], style)


def _span(span: Span, labels: Iterable[Label], style: TerminalStyle, depth: int) -> Iterator[RenderableType]:
    kind = "fail" if span.error is not None else "pass"
    took = [] if span.seconds is None else [duration(span.seconds)]
    took += [] if span.usage is None else [tokens_used(span.usage)]
    took += [] if span.cost is None else [money(span.cost)]
    title = " ".join(filter(None, ("answer" if not span.parent else span.kind, one_line(span.name, 100))))
    heading = Text.assemble((f"{MARKS[kind]} ", COLORS[kind]), (span.id, "bold"), f"  {' · '.join([title, *took])}")
    table = field_table()
    most = style.width * (_STEP_LINES if span.parent else _LINES)
    rows = [("input", span.input), ("output", span.output), ("error", span.error), ("model", span.model or None)]
    rows += [("prompt", span.template or None), *(("context", context) for context in span.contexts or ())]
    rows += [("metadata", span.metadata or None)]
    for name, value in rows:
        if value is not None:
            table.add_row(name, Text(cut(display_text(value), most), style=COLORS["error"] if name == "error" else ""))
    _add_labels(table, [label for label in labels if label.about == about_span(span.id)], style)
    deep = 2 * min(depth, _DEEPEST)
    yield Padding(heading, (0, 0, 0, deep))
    yield Padding(table, (0, 0, 0, deep + 2))


def _add_labels(table: Table, labels: Sequence[Label], style: TerminalStyle) -> None:
    holding = set(map(id, current_labels(labels)))
    for label in labels:
        said = [] if label.liked is None else ["up" if label.liked else "down"]
        said += [] if label.score is None else [f"score {label.score:g}"]
        said += ["withdrawn"] if label.withdrawn else []
        holds = id(label) in holding or label.withdrawn
        about = label.about.split("/", 2)
        what = f"{one_line(about[2], 20)} label" if label.about.startswith("score:") and len(about) > 2 else "label"
        line = Text(
            f"{', '.join([*said, one_line(label.by, 60)])}, {_when(label.created)}", style="" if holds else "dim"
        )
        line.append("" if holds else " (superseded)")
        line.append(f"  {cut(clean(label.comment), style.width * _STEP_LINES)}" if label.comment else "")
        table.add_row(what, line)


def _when(moment: str) -> str:
    """Format a UTC time to the second."""
    return moment[:19].replace("T", " ")
