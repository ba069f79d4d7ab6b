"""Templates and what they may call: every text that a page shows goes through here."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
from markupsafe import Markup

from evalmark.core.money import money, spent_lines
from evalmark.core.text import one_line, unwrap_single_input
from evalmark.core.values.words import count
from evalmark.reports.text import comparison
from evalmark.reports.text.audit import beyond_luck
from evalmark.reports.text.calibration import calibration_title, labels_beside, promise_lines, threshold_of
from evalmark.reports.text.judges import all_remarks, worst_rows
from evalmark.reports.text.numbers import (
    GAP,
    behind,
    centre,
    duration,
    percent,
    share_interval,
    so_many,
    spread,
    time_taken,
)
from evalmark.reports.text.raised import raised_at, traceback_of
from evalmark.reports.text.titles import commit_of, facts, origin, title
from evalmark.reports.text.transcripts import steps_title, tokens_used
from evalmark.reports.text.verdicts import endings, outcome

from . import sparklines
from .differences import differences_picture
from .escaping import changed, segments, text_of, visible
from .keys import KEYS
from .scores import kind_of, short

_FOLDER = Path(__file__).parent / "templates"
_MARKS = {"pass": "✓", "fail": "✗", "error": "!", "unscored": "?", "ungated": "·", "skipped": GAP}
_WORDS = {"pass": "passed", "fail": "failed"}

WORDING = (
    all_remarks,
    behind,
    beyond_luck,
    calibration_title,
    centre,
    commit_of,
    endings,
    facts,
    labels_beside,
    origin,
    outcome,
    promise_lines,
    raised_at,
    share_interval,
    so_many,
    spent_lines,
    spread,
    steps_title,
    threshold_of,
    time_taken,
    title,
    tokens_used,
    traceback_of,
    worst_rows,
)
"""What templates call by its name."""


def environment(folder: Path, offered: Mapping[str, Any]) -> jinja2.Environment:
    """The templates of a folder, `parts.html` beside them, and what they may call besides.

    Nothing foreign is ever a template, and everything foreign is escaped.
    """
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, _FOLDER]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_said,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "text": text_of,
        "line": one_line,
        "bare": unwrap_single_input,
        "duration": duration,
        "money": money,
        "percent": percent,
        "mark": lambda kind: _MARKS.get(kind, "·"),
        "word": lambda kind: _WORDS.get(kind, kind),
        "number": lambda n: f"{n:,}",
        "number_of": count,
        "when": lambda text: text.replace("T", " ").replace("+00:00", " UTC").replace("Z", " UTC"),
    }
    made.globals |= {
        "wording": SimpleNamespace(**{found.__name__: found for found in WORDING}),
        "pictures": sparklines,
        "segments": segments,
        "changed": changed,
        "short": short,
        "kind_of": kind_of,
    }
    made.globals |= {"compared": comparison, "differences_picture": differences_picture, "KEYS": KEYS}
    made.globals |= offered
    return made


def page(templates: jinja2.Environment, name: str, values: Mapping[str, Any]) -> str:
    """A page of a template; half surrogate pairs, which no browser could read, are signs by then."""
    return templates.get_template(name).render(values)


def _said(value: Any) -> Any:
    """What an expression of a template gives, as the page has it: unknown is nothing, a text has nothing that acts."""
    if value is None:
        return ""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)
