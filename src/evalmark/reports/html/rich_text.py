"""Values of cases as safe HTML: Markdown, JSON, chat messages and tool calls; any other text unchanged."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from .escaping import LONGEST, source_text
from .markdown import draw_markdown, mark_sentences
from .structures import draw_structure

_LONG, _MANY = 2_400, 30
"""Characters, and lines or blocks, of what takes more than a screen."""
_OF_A_MEMBER = 25
"""Characters of an average member of a JSON object."""


_MARKUP = re.compile(r"[\n\r\t*_`|\[\]{}~\\]|://|  |^\s*(?:[-+>#]|\d+[.)])")


def may_be_drawn(text: str) -> bool:
    """Return whether a text has anything that is drawn as Markdown or JSON; reading it takes a hundredth of drawing it.

    >>> may_be_drawn("It is high, or 1.5 times that."), may_be_drawn("It is *high*."), may_be_drawn("1. It is high.")
    (False, True, True)
    """
    return _MARKUP.search(text) is not None


class RichText(NamedTuple):
    """A value as HTML, and how much of its text that shows."""

    html: Markup
    shown: int
    """Characters of the text that are shown."""
    length: int
    is_drawn: bool
    """False if the text is shown unchanged."""

    @property
    def is_cut(self) -> bool:
        return self.length > self.shown

    @property
    def is_long(self) -> bool:
        """Whether it takes more than a screen, by its characters, lines and blocks."""
        lines = sum(map(self.html.count, ("\n", "<p>", "<li>", "<tr>", "<div>")))
        return self.shown > _LONG or lines > _MANY


def rich_text(
    value: Any, sentences: Sequence[str] = (), longest: int = LONGEST, *, lines: int = 0, as_text: bool = False
) -> RichText:
    """Draw a value as safe HTML, for an element of the class `rich`, or `text` if it is shown unchanged.

    Args:
        value: any value of a case or an output. A text is drawn as JSON or Markdown if it is that.
        sentences: sentences to mark; those that the text lacks follow it.
        longest: the most characters to show.
        lines: the most lines to show; 0 for any number.
        as_text: show texts unchanged, and other values as indented JSON.

    >>> rich_text("It is **high**.").html
    Markup('<p>It is <strong>high</strong>.</p>')
    >>> rich_text("5*3*2 = 30 <b>").html
    Markup('5*3*2 = 30 &lt;b&gt;')
    """
    text = source_text(value)
    if not as_text and not sentences and len(text) <= LONGEST:
        # Each member is on a line of its own.
        drawn = draw_structure(value, min(longest, lines * _OF_A_MEMBER) if lines else longest)
        if drawn is not None:
            shown = min(longest, len(text) - 1) if drawn.is_cut else len(text)
            return RichText(drawn.html, shown, len(text), is_drawn=True)
    part = _shortened(text, longest, lines)
    html = draw_markdown(part, sentences) if isinstance(value, str) and not as_text else None
    is_drawn = html is not None
    return RichText(mark_sentences(part, sentences) if html is None else html, len(part), len(text), is_drawn=is_drawn)


def _shortened(text: str, longest: int, lines: int) -> str:
    """Cut a text, at the end of a line or a word if one is near."""
    start = text[:longest]
    if lines and start.count("\n") >= lines:
        return "\n".join(start.split("\n", lines)[:lines])
    if len(text) <= longest:
        return text
    ends = (start.rfind(sign, longest * 3 // 4) for sign in ("\n", " "))
    return start[: next((end for end in ends if end > 0), longest)]
