"""Markdown as safe HTML: nothing is loaded, nothing is run, and what is not drawn is shown as it was written."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from evalmark.core.lazy import LazyModule
from evalmark.reports.text.output_changes import structure_of

from .escaping import inner_text, segments

if TYPE_CHECKING:
    import markdown_it
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token
else:
    markdown_it = LazyModule("markdown_it")

_NESTING = 20
"""Most levels of lists and quotes that are drawn; a text with more is shown unchanged."""
_MOST_TOKENS = 20_000
_REMEMBERED = 4_000
"""Longest text in characters whose tokens are kept for the next page."""
_MARKUP = re.compile(r"[*_`#>|~\[<\\]|^ {0,3}(?:[-+]|\d{1,9}[.)])\s|^ {0,3}-{3}", re.MULTILINE)
"""What every text with Markdown contains; other texts are not parsed."""
_LINK = re.compile(r"(?:https?://|mailto:)[^\s\x00-\x20]+", re.IGNORECASE)
_LONGEST_PLAIN = 40_000
"""Longest text in characters whose Markdown is removed."""
_BLANK_LINES = re.compile(r"\n{3,}")
_PLAIN_PARTS: Mapping[str, str] = {
    "softbreak": "\n",
    "hardbreak": "\n",
    "hr": "\n\n",
    "heading_close": "\n\n",
    "tr_close": "\n",
    "table_close": "\n",
    "th_close": "  ",
    "td_close": "  ",
    "bullet_list_close": "\n",
    "ordered_list_close": "\n",
}
"""What stands for a token that has no text of its own."""
_TEXT_TOKENS = frozenset(("paragraph_open", "paragraph_close", "inline", "text", "text_special", "softbreak"))
_ELEMENTS: Mapping[str, str] = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "em": "em",
    "strong": "strong",
} | {name: name for name in ("blockquote", "table", "thead", "tbody", "tr", "th", "td", "s")}
"""Elements by the names of tokens."""
_SIGNS = {"softbreak": Markup("\n"), "hardbreak": Markup("<br>"), "hr": Markup("<hr>")}


def draw_markdown(text: str, sentences: Sequence[str] = ()) -> Markup | None:
    """Draw a text as Markdown and mark sentences.

    Returns:
        None if the text has no markup, is nested too deeply, or if a sentence extends over several elements.

    >>> draw_markdown("It is **high**, see [a map](https://example.org).")
    Markup('<p>It is <strong>high</strong>, see <a href="https://example.org" rel="noopener noreferrer nofollow">a map</a>\
<small> https://example.org</small>.</p>')
    >>> draw_markdown("5*3*2 is 30"), draw_markdown("[x](javascript:x)")
    (None, None)
    """
    if not _MARKUP.search(text):
        return None
    tokens = _recent_tokens(text) if len(text) <= _REMEMBERED else _tokens(text)
    if len(tokens) > _MOST_TOKENS or all(token.type in _TEXT_TOKENS for token in tokens):
        return None
    # A parser that is too deep in lists and quotes leaves out what they contain.
    if any(token.level >= _NESTING - 1 for token in tokens):
        return None
    texts = [token.content for token in tokens if token.type == "text"]
    if not all(any(sentence in one for one in texts) for sentence in sentences):
        return None
    return Markup("").join(_drawn(tokens, sentences))


def plain_text(value: Any) -> Any:
    r"""Return a text without its Markdown, for a line or a comparison of words; any other value and JSON unchanged.

    >>> plain_text("# High\n\n- It is **high**, see [a map](https://example.org).")
    'High\n\n• It is high, see a map.'
    """
    if not isinstance(value, str) or len(value) > _LONGEST_PLAIN or not _MARKUP.search(value):
        return value
    if structure_of(value) is not None:
        return value
    tokens = _recent_tokens(value) if len(value) <= _REMEMBERED else _tokens(value)
    if any(token.level >= _NESTING - 1 for token in tokens):
        return value
    return _BLANK_LINES.sub("\n\n", "".join(map(_plain_part, tokens))).strip()


def plain_beginning(value: Any, longest: int) -> Any:
    """Return a text without the Markdown of its beginning, which is all that a line of `longest` characters shows.

    Any other value and JSON are unchanged. A long text is not parsed as a whole, since a page has many of them.
    """
    cut = 4 * longest
    if not isinstance(value, str) or len(value) <= cut:
        return plain_text(value)
    if value.lstrip().startswith(("{", "[")):
        return value
    return f"{plain_text(value[:cut])} {value[cut : cut + longest]}"


def _plain_part(token: "Token") -> str:
    if token.type in _PLAIN_PARTS:
        return _PLAIN_PARTS[token.type]
    if token.type == "list_item_open":
        return f"{token.info}. " if token.info else "\u2022 "
    if token.type == "paragraph_close":
        return "\n" if token.hidden else "\n\n"
    if token.type == "text_special":
        return str(token.markup)
    return "" if token.type == "inline" or token.nesting else str(token.content)


def mark_sentences(text: str, sentences: Sequence[str]) -> Markup:
    """Escape a text and mark sentences; those that it lacks follow."""
    if not sentences:
        return inner_text(text)
    mark = Markup("<mark>{}</mark>")
    parts = segments(text, sentences)
    return Markup("").join(
        mark.format(inner_text(part.text)) if part.is_marked else inner_text(part.text) for part in parts
    )


@lru_cache(maxsize=512)
def _recent_tokens(text: str) -> Sequence["Token"]:
    return _tokens(text)


def _tokens(text: str) -> Sequence["Token"]:
    """Parse Markdown: each block is followed by its inline elements."""
    return [one for token in _parser().parse(text) for one in (token, *(token.children or ()))]


@lru_cache(maxsize=1)
def _parser() -> "markdown_it.MarkdownIt":
    """Make a parser of CommonMark with tables and strikethrough, without what hides or rewrites a part of a text.

    Left out are HTML, entities, reference definitions, underlined headings and indented code.
    """
    made = markdown_it.MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING})
    made.enable(["table", "strikethrough"])
    made.disable(["entity", "reference", "lheading", "code", "html_block", "html_inline", "text_join"])
    made.inline.ruler.before("emphasis", "inner_stars", _inner_stars)
    setattr(made, "validateLink", lambda address: _LINK.fullmatch(address) is not None)  # noqa: B010  a method
    return made


def _inner_stars(state: "StateInline", silent: bool) -> bool:
    """Keep the stars of 5*3*2: between two letters or digits of ASCII, they are no emphasis."""
    text, start = state.src, state.pos
    end = start + len(list(takewhile("*".__eq__, text[start : state.posMax])))
    around = text[max(0, start - 1) : start] + text[end : state.posMax][:1]
    if end == start or len(around) < 2 or not (around.isascii() and around.isalnum()):
        return False
    if not silent:
        state.pending += text[start:end]
    state.pos = end
    return True


def _drawn(tokens: Sequence["Token"], sentences: Sequence[str]) -> Iterator[Markup]:
    """Draw tokens of the allowed kinds; the content of any other is shown as text."""
    link, words = "", ""
    for token in tokens:
        name, _, way = token.type.rpartition("_")
        if token.hidden or token.type == "inline":
            continue
        if token.type == "link_open":
            link, words = _attribute(token, "href"), ""
            yield _link_start(link)
            link += f" \u201c{title}\u201d" if (title := _attribute(token, "title")) else ""
        elif token.type == "link_close":  # readers see where it leads
            yield Markup("</a>") + _small("" if words == link else f" {link}")
        elif name in _ELEMENTS and way in ("open", "close"):
            yield _tag(token, _ELEMENTS[name], is_end=way == "close")
        elif name == "heading":  # it is no heading of the page
            yield Markup('<p class="heading">') if way == "open" else Markup("</p>")
        else:
            words += token.content
            yield _leaf(token, sentences)


def _tag(token: "Token", element: str, *, is_end: bool) -> Markup:
    if is_end:
        return Markup("</{}>").format(element)
    start = _attribute(token, "start")
    attribute = Markup(' start="{}"').format(start) if start else Markup("")
    if element == "table":
        attribute = Markup(' aria-label="Table in the text"')
    if "right" in _attribute(token, "style"):
        attribute = Markup(' class="num"')
    return Markup("<{}{}>").format(element, attribute)


def _leaf(token: "Token", sentences: Sequence[str]) -> Markup:
    if token.type == "text":
        return mark_sentences(token.content, [sentence for sentence in sentences if sentence in token.content])
    if token.type == "fence":
        code = inner_text(token.content.removesuffix("\n"))
        return Markup("<pre>{}<code>{}</code></pre>").format(_small(token.info.strip()), code)
    if token.type == "code_inline":
        return Markup("<code>{}</code>").format(inner_text(token.content))
    if token.type == "image":  # it is never fetched
        address, title = _attribute(token, "src"), inner_text(f"image: {token.content}" if token.content else "image")
        return Markup("{}[{}]</a>{}").format(_link_start(address), title, _small(f" {address}"))
    return _SIGNS.get(token.type) or inner_text(token.markup if token.type == "text_special" else token.content)


def _attribute(token: "Token", name: str) -> str:
    value = token.attrGet(name)
    return "" if value is None else str(value)


def _link_start(address: str) -> Markup:
    return Markup('<a href="{}" rel="noopener noreferrer nofollow">').format(address)


def _small(text: str) -> Markup:
    return Markup("<small>{}</small>").format(inner_text(text)) if text else Markup("")
