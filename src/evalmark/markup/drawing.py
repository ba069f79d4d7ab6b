"""Templates and what they may call: every text that a page shows goes through here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from evalmark import wording
from evalmark.values import count
from evalmark.wording import compared

from . import pictures
from .differences import differences_picture
from .keys import KEYS
from .scores import kind_of, short
from .text import changed, segments, text_of, visible

_FOLDER = Path(__file__).parent / "templates"
_MARKS = {"pass": "✓", "fail": "✗", "error": "!", "unscored": "?", "ungated": "·", "skipped": wording.GAP}
_WORDS = {"pass": "passed", "fail": "failed"}


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
        "line": wording.one_line,
        "bare": wording.bare,
        "duration": wording.duration,
        "money": wording.money,
        "percent": wording.percent,
        "mark": lambda kind: _MARKS.get(kind, "·"),
        "word": lambda kind: _WORDS.get(kind, kind),
        "number": lambda n: f"{n:,}",
        "number_of": count,
        "when": lambda text: text.replace("T", " ").replace("+00:00", " UTC").replace("Z", " UTC"),
    }
    made.globals |= {
        "wording": wording,
        "pictures": pictures,
        "segments": segments,
        "changed": changed,
        "short": short,
        "kind_of": kind_of,
    }
    made.globals |= {"compared": compared, "differences_picture": differences_picture, "KEYS": KEYS}
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
