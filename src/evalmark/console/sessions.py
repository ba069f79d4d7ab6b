"""Recorded sessions for a terminal: one a line, or one in full with what people say of it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalmark import wording
from evalmark.traffic import Recorded
from evalmark.values import Label, Session, Span, count, in_force
from evalmark.wording import clean, cut, money, one_line, shown

from .cases import fields
from .drawing import COLORS, DEFAULT, MARKS, Look, drawn, inner, plain_lines

_LINES = 400
"""How much of a field of an answer may be shown, in characters a column."""
_STEP_LINES = 4
"""The same of a field of a step."""
_TEXTS = ("session", "project", "started")
"""Columns of texts; numbers stand to the right."""
_ROOM, _LITTLE_ROOM = 40, 12
"""Characters of the name of a project, at most and at least."""
_DEEPEST = 8
"""Levels of steps that are set in; deeper ones stand below each other."""


def session_list(found: Sequence[Recorded], look: Look = DEFAULT) -> str:
    """Sessions, one a line, in the order given; what a narrow terminal has no room for is cut or left out."""
    if not found:
        return drawn([Text("No sessions are recorded.")], look)
    columns = _fitting({heading: [heading, *said] for heading, said in _columns(found).items()}, look)
    widths = {heading: max(map(cell_len, said)) for heading, said in columns.items()}
    header, *lines = [
        _line(dict(zip(columns, row, strict=True)), widths) for row in zip(*columns.values(), strict=True)
    ]
    # A table of ten thousand rows takes seconds to draw; these lines have neither colours nor breaks.
    return drawn([Text(header, style="dim")], look) + plain_lines(lines, look)


def _columns(found: Sequence[Recorded]) -> dict[str, list[str]]:
    return {
        "session": [one.session.id for one in found],
        "project": [one_line(one.session.project, _ROOM) for one in found],
        "started": [_when(one.session.started) for one in found],
        "answers": [f"{one.answers:,}" for one in found],
        "failed": [f"{one.failed:,}" for one in found],
        "labels": [f"{one.labels:,}" for one in found],
        "dropped": [f"{one.session.dropped:,}" for one in found],
    }


def _fitting(columns: dict[str, list[str]], look: Look) -> dict[str, list[str]]:
    """The columns that there is room for; that spans were dropped is never left out."""
    nothing = ["dropped"] if {*columns["dropped"][1:]} == {"0"} else []
    for leave in (None, *nothing, "started"):
        columns = {heading: said for heading, said in columns.items() if heading != leave}
        others = sum(max(map(cell_len, said)) + 2 for heading, said in columns.items() if heading != "project")
        room = inner(look) - others
        if room >= min(_LITTLE_ROOM, max(map(cell_len, columns["project"]))):
            break
    return {**columns, "project": [one_line(name, max(room, _LITTLE_ROOM)) for name in columns["project"]]}


def _line(row: Mapping[str, str], widths: Mapping[str, int]) -> str:
    cells = [
        text + " " * (widths[heading] - cell_len(text)) if heading in _TEXTS else text.rjust(widths[heading])
        for heading, text in row.items()
    ]
    return "  ".join(cells)


def one_session(session: Session, labels: Iterable[Label] = (), look: Look = DEFAULT) -> str:
    """A session in full: its answers with their steps, and everything that people ever said of them."""
    facts = [one_line(session.project, 60), f"{_when(session.started)} UTC", count(len(session.answers), "answer")]
    facts += [f"{session.dropped:,} spans dropped"] if session.dropped else []
    parts: list[RenderableType] = [Text.assemble((f"session {session.id}", "bold"), f"  {' · '.join(facts)}")]
    if session.metadata:
        parts.append(Padding(Text(cut(shown(session.metadata), look.width * _STEP_LINES), style="dim"), (0, 0, 0, 2)))
    for span, depth in in_order(session.spans):
        parts += [Text(""), *_span(span, labels, look, depth)]
    return drawn(parts, look)


def one_span(span: Span, labels: Iterable[Label] = (), look: Look = DEFAULT) -> str:
    """A span in full, and everything that people ever said of it."""
    where = Text(f"{one_line(span.project, 60)} · session {span.session}", style="dim")
    return drawn([where, *_span(span, labels, look, 0)], look)


def labels_said(labels: Iterable[Label], look: Look = DEFAULT) -> str:
    """Everything ever said of something, a line each; nothing where nobody said a word."""
    labels = list(labels)
    if not labels:
        return ""
    table = fields()
    _add_labels(table, labels, look)
    return drawn([Padding(table, (0, 0, 0, 2))], look)


def in_order(spans: Iterable[Span]) -> Iterator[tuple[Span, int]]:
    """Each answer followed by its steps, with how deep each stands."""
    spans = tuple(spans)
    known = {span.id for span in spans}
    below: defaultdict[str, list[Span]] = defaultdict(list)
    for span in spans:
        below[span.parent if span.parent in known else ""].append(span)
    waiting = [(span, 0) for span in reversed(below[""])]
    while waiting:
        span, depth = waiting.pop()
        yield span, depth
        waiting += [(step, depth + 1) for step in reversed(below.pop(span.id, []))]


def _span(span: Span, labels: Iterable[Label], look: Look, depth: int) -> Iterator[RenderableType]:
    kind = "fail" if span.error is not None else "pass"
    took = [] if span.seconds is None else [wording.duration(span.seconds)]
    took += [] if span.usage is None else [wording.tokens_used(span.usage)]
    took += [] if span.cost is None else [money(span.cost)]
    title = " ".join(filter(None, ("answer" if not span.parent else span.kind, one_line(span.name, 100))))
    heading = Text.assemble((f"{MARKS[kind]} ", COLORS[kind]), (span.id, "bold"), f"  {' · '.join([title, *took])}")
    table = fields()
    most = look.width * (_STEP_LINES if span.parent else _LINES)
    rows = [("asked", span.input), ("answered", span.output), ("error", span.error), ("model", span.model or None)]
    rows += [("prompt", span.template or None), *(("context", context) for context in span.contexts or ())]
    rows += [("metadata", span.metadata or None)]
    for name, value in rows:
        if value is not None:
            table.add_row(name, Text(cut(shown(value), most), style=COLORS["error"] if name == "error" else ""))
    _add_labels(table, [label for label in labels if label.about == f"span:{span.id}"], look)
    deep = 2 * min(depth, _DEEPEST)
    yield Padding(heading, (0, 0, 0, deep))
    yield Padding(table, (0, 0, 0, deep + 2))


def _add_labels(table: Table, labels: Sequence[Label], look: Look) -> None:
    holding = set(map(id, in_force(labels)))
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
        line.append("" if holds else " (said before)")
        line.append(f"  {cut(clean(label.comment), look.width * _STEP_LINES)}" if label.comment else "")
        table.add_row(what, line)


def _when(moment: str) -> str:
    """To the second, as everywhere; UTC."""
    return moment[:19].replace("T", " ")
