"""Values as text, and as short previews for reasons."""

import json
from typing import Any

from evalmark.core.values.plain_data import plain

NO_EXPECTED = "the case has no expected answer"
MAX_PREVIEW_CHARS = 80
"""Characters of a value that a reason shows."""


def text_of(value: Any) -> str:
    """Return a value as text: a text unchanged, empty for None, and JSON for other data.

    >>> text_of("Oslo"), text_of(None), text_of({"city": "Tromsø"})
    ('Oslo', '', '{"city": "Tromsø"}')
    """
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(plain(value), ensure_ascii=False, sort_keys=True)


def preview(value: Any, start: int = 0) -> str:
    r"""Return a value on one line, with quotes if it is a text, and shortened if it is long.

    >>> preview("a\nb"), preview(7), preview(None)
    ("'a\\nb'", '7', 'nothing')
    >>> preview("x" * 100).removeprefix("'" + "x" * 80)
    "'… (100 characters)"
    """
    text = text_of(value)
    cut = text[start : start + MAX_PREVIEW_CHARS]
    head, tail = "…" if start else "", "…" if start + MAX_PREVIEW_CHARS < len(text) else ""
    if isinstance(value, str):
        return f"{head}{cut!r}{tail}" + (f" ({len(text):,} characters)" if head or tail else "")
    return "nothing" if value is None else f"{head}{_escaped(cut)}{tail}"


def preview_pair(one: Any, other: Any) -> tuple[str, str]:
    """Preview two values, cut so that their first difference is visible."""
    if one == other or not (isinstance(one, str) and isinstance(other, str)):
        return preview(one), preview(other)
    parting = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(0, parting - MAX_PREVIEW_CHARS // 4) if parting > MAX_PREVIEW_CHARS // 2 else 0
    return preview(one, start), preview(other, start)


def _escaped(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
