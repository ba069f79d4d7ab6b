"""Whether a text is or contains XML or HTML, as promptfoo's assertions decide it."""

import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any
from xml.parsers import expat

MAX_CHARS = 10 * 1024 * 1024
_MAX_DEPTH = 500
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<!.*?(?:>|\Z)"
    r"|<(?P<close>/?)(?P<name>[^\W\d][\w:.-]*|:)(?P<rest>(?:[^<>\"']|\"[^\"]*\"|'[^']*'){0,300})>",
    re.DOTALL,
)
_STRAY = re.compile(r"&(?!(?:#\d+|#x[0-9a-fA-F]+|amp|lt|gt|quot|apos);)")


def required_elements(value: Any) -> list[list[str]]:
    """Return the paths of elements that a value asks for: a list, a text with commas, or `requiredElements`."""
    if isinstance(value, Mapping):
        value = value.get("requiredElements") or []
    names = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [str(name).strip().split(".") for name in names]


def is_xml(text: str, value: Any = None) -> bool:
    """Tell whether a text is one well-formed XML document with some elements; one that declares entities is not."""
    tree = _tree(text)
    return tree is not None and all(_has(tree, path) for path in required_elements(value))


def has_xml(text: str, value: Any = None) -> bool:
    """Tell whether a text contains elements of XML; those that are asked for stand in one part of it."""
    paths = required_elements(value)
    read: list[tuple[int, int]] = []
    for start, end in _fragments(text):
        if any(begin <= start and end <= last for begin, last in read):
            continue
        tree = _tree(f"<all>{_STRAY.sub('&amp;', text[start:end])}</all>")
        found = (tree or {}).get("all")
        if not paths or (isinstance(found, Mapping) and all(_has(found, path) for path in paths)):
            return True
        read += [(start, end)] if tree is not None else []
    return False


def _fragments(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of neighbouring elements together, then of each outermost element that is closed."""
    spans = list(_elements(text[:MAX_CHARS]))
    starts = {start for start, _, _ in spans}
    outer = sorted(span for span in spans if span[2] not in starts)
    for parent in dict.fromkeys(span[2] for span in outer):
        alike = [span for span in outer if span[2] == parent]
        if len(alike) > 1:
            yield alike[0][0], alike[-1][1]
    for start, end, _ in outer:
        yield start, end


def _elements(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield start and end of each element that is closed, and the start of the open one around it (-1: none)."""
    open_tags: list[tuple[str, int]] = []
    for match in _TAG.finditer(text):
        start = match.start()
        if match["name"] is None:
            continue
        if match["close"]:
            if not open_tags or open_tags[-1][0] != match["name"]:
                open_tags.clear()
                continue
            start = open_tags.pop()[1]
        elif not match["rest"].rstrip().endswith("/"):
            open_tags.append((match["name"], start))
            continue
        yield start, match.end(), open_tags[-1][1] if open_tags else -1


class _TreeReader:
    """Collects XML in nested mappings, where repeated elements are a list."""

    def __init__(self) -> None:
        self.stack: list[dict[str, Any]] = [{}]

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        if len(self.stack) > _MAX_DEPTH:
            raise ValueError
        self.stack.append({f"@_{key}": value for key, value in attributes.items()})

    def end(self, name: str) -> None:
        node: Any = self.stack.pop() or ""
        whole = self.stack[-1]
        if name not in whole:
            whole[name] = node
        elif isinstance(whole[name], list):
            whole[name].append(node)
        else:
            whole[name] = [whole[name], node]

    def declare(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        if internal:
            raise ValueError


def _tree(text: str) -> dict[str, Any] | None:
    """Parse XML; None if it is not well-formed, or declares entities."""
    reader, parser = _TreeReader(), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = reader.begin, reader.end
    parser.StartDoctypeDeclHandler = reader.declare
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, ValueError):
        return None
    return reader.stack[0]


def _has(tree: Any, path: list[str]) -> bool:
    for key in path:
        if isinstance(tree, list) and key.isdecimal() and int(key) < len(tree):
            tree = tree[int(key)]
        elif isinstance(tree, Mapping) and key in tree:
            tree = tree[key]
        else:
            return False
    return True


# HTML.

_VOID = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source"),
        *("track", "wbr"),
    )
)
_ELEMENTS = _VOID | frozenset(
    (
        *("html", "head", "title", "style", "body", "article", "section", "nav", "aside", "h1", "h2", "h3"),
        *("h4", "h5", "h6", "header", "footer", "address", "p", "pre", "blockquote", "ol", "ul", "li", "dl"),
        *("dt", "dd", "figure", "figcaption", "main", "div", "a", "em", "strong", "small", "s", "cite", "q"),
        *("dfn", "abbr", "ruby", "rt", "rp", "data", "time", "code", "var", "samp", "kbd", "sub", "sup", "i"),
        *("b", "u", "mark", "bdi", "bdo", "span", "iframe", "object", "picture", "video", "audio", "map"),
        *("svg", "math", "script", "noscript", "canvas", "ins", "del", "table", "caption", "colgroup", "tbody"),
        *("thead", "tfoot", "tr", "td", "th", "form", "label", "button", "select", "datalist", "optgroup"),
        *("option", "textarea", "output", "progress", "meter", "fieldset", "legend", "details", "summary"),
        *("dialog", "menu", "slot", "template"),
    )
)
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "details", "dialog", "div", "dl", "fieldset"),
        *("figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main"),
        *("menu", "nav", "ol", "p", "pre", "section", "table", "ul"),
    )
)
"""Elements that close an open paragraph."""
_COMMON = (
    "html|head|body|div|span|p|a|img|h[1-6]|ul|ol|li|table|tr|td|th|form|input|button|script|style|link|meta|br|hr"
)
_NAME = "[a-zA-Z][a-zA-Z0-9-]*"
_SIGNS = (
    (1, re.compile(rf"<{_NAME}(?:\s[^>]{{0,2000}})?>")),
    (1, re.compile(rf"</{_NAME}\s*>")),
    (1, re.compile(rf"<{_NAME}(?:\s[^>]{{0,2000}})?/>")),
    (1, re.compile(r"&(?:[a-zA-Z]+|#[0-9]+|#x[0-9a-fA-F]+);")),
    (2, re.compile(r"<!DOCTYPE\s+html", re.IGNORECASE)),
    (1, re.compile(r"<!--[\s\S]{0,2000}?-->")),
    (1, re.compile(r"\s[a-zA-Z-]{1,100}=\s*[\"'][^\"']{0,2000}[\"']")),
    (2, re.compile(rf"<(?:{_COMMON})\b", re.IGNORECASE)),
)
"""Signs of HTML with their weights; tags and comments are limited, so that an output of many open ones takes no hours."""


def contains_html(text: str) -> bool:
    """Tell whether a text has signs of HTML with a weight of 2 or more.

    >>> contains_html("a <b>bold</b> word"), contains_html("a < b & c > d")
    (True, False)
    """
    if len(text) > MAX_CHARS:
        return False
    return sum(weight for weight, sign in _SIGNS if sign.search(text)) >= 2


def is_html(text: str) -> bool:
    """Tell whether a text is HTML: it has a known element, and no text outside of elements.

    >>> is_html("<p>Oslo</p>"), is_html("Oslo: <p>x</p>"), is_html('<?xml version="1.0"?><p/>')
    (True, False, False)
    """
    trimmed = text.strip()
    if not trimmed or len(trimmed) > MAX_CHARS or trimmed[:5].lower() == "<?xml":
        return False
    reader = _HtmlReader()
    end = trimmed.rfind(">") + 1
    reader.feed(trimmed[:end])
    reader.close()
    if end < len(trimmed):  # the parser takes long for a tag that is not closed
        reader.handle_data(trimmed[end:])
    return reader.is_known and not (reader.has_loose_text and not reader.has_body)


class _HtmlReader(HTMLParser):
    """Notes whether there is a known element, and text outside of all elements."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open_tags: list[str] = []
        self.is_known = self.has_loose_text = self.has_body = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_known = self.is_known or tag in _ELEMENTS or "-" in tag
        self.has_body = self.has_body or tag == "body"
        if tag in ("html", "head", "body"):
            return
        if tag in _BLOCKS and "p" in self.open_tags:
            del self.open_tags[len(self.open_tags) - 1 - self.open_tags[::-1].index("p") :]
        if tag not in _VOID:
            self.open_tags.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)  # the slash has no meaning in HTML

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open_tags:
            del self.open_tags[len(self.open_tags) - 1 - self.open_tags[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        self.has_loose_text = self.has_loose_text or bool(data.strip() and not self.open_tags)
