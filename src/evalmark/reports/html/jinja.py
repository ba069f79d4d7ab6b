"""The Jinja environment of all pages, with its filters and functions; every text of a page is escaped here."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
from markupsafe import Markup

from evalmark.core.money import money, spent_lines
from evalmark.core.text import count, one_line, unwrap_single_input
from evalmark.reports.text import comparison
from evalmark.reports.text.audit import agreement_text
from evalmark.reports.text.calibration import calibration_title, promise_lines, threshold_text, unused_labels
from evalmark.reports.text.judges import all_remarks, worst_rows
from evalmark.reports.text.numbers import (
    GAP,
    duration,
    mean_interval,
    mean_text,
    mean_unit,
    percent,
    share_interval,
    share_with_interval,
    time_text,
)
from evalmark.reports.text.titles import group_title, run_facts, run_origin, short_commit
from evalmark.reports.text.transcripts import steps_title, tokens_used
from evalmark.reports.text.verdicts import gate_outcome, raised_at, score_kind, short_score, tally_text, traceback_of

from . import sparklines
from .assets import SHORTCUTS
from .escaping import page_text, segments, visible, wrap_change
from .sparklines import draw_differences

_FOLDER = Path(__file__).parent / "templates"
_MARKS = {"pass": "✓", "fail": "✗", "error": "!", "unscored": "?", "ungated": "·", "skipped": GAP}
_WORDS = {"pass": "passed", "fail": "failed"}

REPORT_TEXT = (
    all_remarks,
    mean_unit,
    agreement_text,
    calibration_title,
    mean_text,
    short_commit,
    tally_text,
    run_facts,
    unused_labels,
    run_origin,
    gate_outcome,
    promise_lines,
    raised_at,
    share_interval,
    share_with_interval,
    spent_lines,
    mean_interval,
    steps_title,
    threshold_text,
    time_text,
    group_title,
    tokens_used,
    traceback_of,
    worst_rows,
)
"""Functions that templates call as `report_text.NAME`."""


def template_environment(folder: Path, offered: Mapping[str, Any]) -> jinja2.Environment:
    """Make the Jinja environment of a template folder, with the shared templates and `offered` names.

    Foreign text is never a template and is always escaped.
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
        "text": page_text,
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
        "report_text": SimpleNamespace(**{found.__name__: found for found in REPORT_TEXT}),
        "sparklines": sparklines,
        "segments": segments,
        "wrap_change": wrap_change,
        "short_score": short_score,
        "score_kind": score_kind,
    }
    made.globals |= {"comparison_text": comparison, "draw_differences": draw_differences, "SHORTCUTS": SHORTCUTS}
    made.globals |= offered
    return made


def render_page(templates: jinja2.Environment, name: str, values: Mapping[str, Any]) -> str:
    """Render a template."""
    return templates.get_template(name).render(values)


def _said(value: Any) -> Any:
    """Finalize a template expression: None becomes empty, control characters become visible."""
    if value is None:
        return ""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)
