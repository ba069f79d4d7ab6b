"""What all pages are made of: texts that cannot be markup, and tables of lines."""

from collections.abc import Iterable
from html import escape

from evalmark.wording import clean


def escaped(text: str) -> str:
    """A text for a page, without what a terminal would take for an order.

    >>> escaped("<b>")
    '&lt;b&gt;'
    """
    return escape(clean(text))


def said(lines: Iterable[tuple[str, str]]) -> str:
    """Lines as a table, each behind what it is about; nothing where there are none."""
    rows = "".join(f"<tr><th>{escaped(about)}<td>{escaped(line)}" for about, line in lines)
    return f"<table class=said>{rows}</table>\n" if rows else ""
