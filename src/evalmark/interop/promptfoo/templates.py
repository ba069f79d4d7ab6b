"""Convert Nunjucks templates of promptfoo to the template language of prompts."""

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from evalmark.core.lazy import LazyModule

if TYPE_CHECKING:
    import jinja2
else:
    jinja2 = LazyModule("jinja2")

_BEGIN, _END = ("variable_begin", "block_begin"), ("variable_end", "block_end")
_WORDS = frozenset((
    "if", "elif", "else", "endif", "for", "endfor", "in", "is", "not", "and", "or", "raw", "endraw", "loop",
    "true", "false", "none", "True", "False", "None", "recursive",
))  # fmt: skip
"""Names that are no variables."""
_SPELLINGS = {"null": "none", "elseif": "elif", "dump": "tojson"}
"""Words of Nunjucks, and what they are called here."""

Token = tuple[str, str]


def converted(template: str, prefix: str = "", plain: Collection[str] = ()) -> str:
    """Convert a Nunjucks template.

    Args:
        template: the template; if it cannot be divided into tokens, it is returned unchanged.
        prefix: put before every variable, such as `input.`.
        plain: variables that get no prefix.

    >>> converted("{{ name | dump }}{% if a === b.c %}", "input.")
    '{{ input.name | tojson }}{% if input.a == input.b.c %}'
    """
    try:
        tokens = _tokens(template)
    except jinja2.TemplateError:
        return template
    bound = {*plain, *_bound(tokens)}
    return "".join(_words(tokens, prefix, bound))


def variables_of(template: str) -> tuple[str, ...]:
    """Return the variables that a template uses, in their order."""
    names: list[str] = []
    try:
        tokens = _tokens(template)
    except jinja2.TemplateError:
        return ()
    bound = _bound(tokens)
    for at, (kind, word) in enumerate(tokens):
        if kind == "name" and _is_variable(tokens, at) and word not in bound:
            names.append(word)
    return tuple(dict.fromkeys(names))


def _tokens(template: str) -> list[Token]:
    """Divide a template into tokens with their spaces; texts have the kind `data`."""
    source = re.sub(r"(?<=[\w\s)\]'\"])(===|!==)(?=[\s\w('\"])", lambda sign: sign[1][:2], template)
    environment = jinja2.Environment(keep_trailing_newline=True)
    return [(kind, text) for _, kind, text in environment.lexer.tokeniter(source, None)]


def _bound(tokens: list[Token]) -> set[str]:
    """Return the variables of loops."""
    names: set[str] = set()
    is_bound = False
    for kind, word in tokens:
        if kind == "name" and word in ("for", "in"):
            is_bound = word == "for"
        elif is_bound and kind == "name":
            names.add(word)
    return names


def _is_variable(tokens: list[Token], at: int) -> bool:
    before = next((word for kind, word in reversed(tokens[:at]) if kind != "whitespace"), "")
    word = tokens[at][1]
    return word not in _WORDS and word != "null" and before not in (".", "|", "is")


def _words(tokens: list[Token], prefix: str, bound: Collection[str]) -> Iterator[str]:
    for at, (kind, word) in enumerate(tokens):
        if kind != "name":
            yield word
        elif _is_variable(tokens, at):
            yield word if word in bound else prefix + word
        else:
            before = tokens[at - 1][1] if at else ""
            yield word if before == "." else _SPELLINGS.get(word, word)


def without_safe(template: str) -> str:
    """Remove the filter `safe`, which has no effect in promptfoo: it never escapes.

    >>> without_safe("{{ text | safe }}")
    '{{ text }}'
    """
    return re.sub(r"\s*\|\s*safe\b(?=[^{}]*[}%]\})", "", template)


def named_environment(template: str) -> tuple[str, ...]:
    """Return the environment variables that a template reads as `env.NAME`."""
    return tuple(dict.fromkeys(re.findall(r"\{\{[^{}]*?\benv\.(\w+)[^{}]*\}\}", template)))


def is_template(value: Any) -> bool:
    """Whether a value is a text with a template in it."""
    return isinstance(value, str) and bool(re.search(r"\{\{|\{%", value))
