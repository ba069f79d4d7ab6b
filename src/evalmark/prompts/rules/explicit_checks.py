"""Parses the explicit checks that people write for rules: `{words: {max: 80}}`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case, Output
from evalmark.scoring.binding.text import preview
from evalmark.scoring.builtin.checks import Regex

from .checks import AllOf, CheckResult, RuleCheck
from .json_structure import JsonText, SchemaText
from .labels import OneOf
from .language import SCRIPTS, Language
from .limits import Limit
from .markup import ClosedTags, HasMarkup, TagCount, TagsInside
from .text_form import LetterCase, NumberText
from .words import ForbiddenWords, OrderedTexts, RequiredTexts, StartsOrEndsWith

NO_CHECK = "none"
"""In place of a check: only the judge decides, even if the rule could be checked."""
PARTIAL = "partial"
_UNITS = {
    "words": "word",
    "sentences": "sentence",
    "lines": "line",
    "characters": "character",
    "paragraphs": "paragraph",
    "bullets": "bullet point",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The whole output matches a pattern.

    >>> Matches(pattern="[A-Z]{3}-[0-9]+")("ABC-12").holds
    True
    """

    pattern: str
    is_whole: bool = True
    scorer: Regex = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scorer", Regex(self.pattern, full=True))

    @property
    def says(self) -> str:
        """The pattern."""
        return f"matches {preview(self.pattern)}"

    def __call__(self, text: str) -> CheckResult:
        """Match the output; a pattern that exceeds its time limit is undecided."""
        score = self.scorer(Case(id="rule"), Output(value=text.strip()))
        return CheckResult(score.passed, score.reason)


def explicit_check(raw: Any, schema: Mapping[str, Any] | None = None) -> RuleCheck | None:
    """Return the check that a person wrote; None for `none`. `schema` is the prompt's, for `json: schema`.

    >>> explicit_check({"paragraphs": 1, "words": {"max": 80}}).says
    'exactly 1 paragraph, at most 80 words'

    Raises:
        ConfigError: The check is invalid.
    """
    if raw == NO_CHECK:
        return None
    if not isinstance(raw, Mapping) or not set(raw) - {PARTIAL}:
        raise ConfigError(
            f"a check is {NO_CHECK}, or names what is checked, such as {{words: {{max: 80}}}}; not {preview(raw)}"
        )
    whole = not _flag(raw.get(PARTIAL, False), PARTIAL)
    found: list[RuleCheck] = []
    for kind, wanted in raw.items():
        if kind != PARTIAL:
            found += _kind(str(kind), wanted, schema, whole)
    return found[0] if len(found) == 1 else AllOf(checks=tuple(found), is_whole=whole)


def _kind(kind: str, wanted: Any, schema: Mapping[str, Any] | None, whole: bool) -> Iterator[RuleCheck]:
    if kind in _UNITS:
        low, high = _bounds(wanted, kind)
        yield Limit(unit=_UNITS[kind], low=low, high=high, is_whole=whole)
    elif kind == "json":
        yield _json(wanted, schema, whole)
    elif kind in _KINDS:
        yield from _KINDS[kind](wanted, whole)
    else:
        known = [*_UNITS, "json", *_KINDS, PARTIAL]
        close = get_close_matches(kind, known, n=1)
        raise ConfigError(
            f"there is no check {kind!r}; "
            + (f"did you mean {close[0]}?" if close else f"it is one of {', '.join(known)}")
        )


def _bounds(raw: Any, kind: str) -> tuple[int | None, int | None]:
    """Return the bounds: `3` for exactly 3, or `min` and `max`, of which one is optional."""
    if _is_count(raw):
        return raw, raw
    if not isinstance(raw, Mapping) or not raw or set(raw) - {"min", "max"}:
        raise ConfigError(f"{kind}: is {preview(raw)}; give a number, or min and max")
    low, high = raw.get("min"), raw.get("max")
    if not all(bound is None or _is_count(bound) for bound in (low, high)):
        raise ConfigError(f"{kind}: min and max are whole numbers from 0, not {preview(raw)}")
    if low is not None and high is not None and low > high:
        raise ConfigError(f"{kind}: min {low} is above max {high}")
    return low, high


def _is_count(raw: Any) -> bool:
    return isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0


def _texts(raw: Any, kind: str, least: int = 1) -> tuple[str, ...]:
    listed = [raw] if isinstance(raw, str) and least == 1 else raw
    if not isinstance(listed, list | tuple) or len(listed) < least or not all(isinstance(t, str) and t for t in listed):
        other = isinstance(listed, list | tuple) and not all(isinstance(text, str) for text in listed)
        hint = "; put numbers, true and false between quotes" if other else ""
        raise ConfigError(
            f"{kind}: is {preview(raw)}, not a list of texts{'' if least == 1 else f', {least} at least'}{hint}"
        )
    return tuple(listed)


def _text(raw: Any, kind: str) -> str:
    if not isinstance(raw, str) or not raw:
        raise ConfigError(f"{kind}: is {preview(raw)}, not a text")
    return raw


def _flag(raw: Any, kind: str) -> bool:
    if not isinstance(raw, bool):
        raise ConfigError(f"{kind}: is {preview(raw)}, not true or false")
    return raw


def _choice(raw: Any, kind: str, known: tuple[str, ...]) -> str:
    if raw not in known:
        raise ConfigError(f"{kind}: is {preview(raw)}, not one of {', '.join(known)}")
    return str(raw)


def _fields(raw: Any, kind: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping) or set(raw) - set(known):
        raise ConfigError(f"{kind}: is {preview(raw)}; it takes {', '.join(known)}")
    return raw


def _json(raw: Any, schema: Mapping[str, Any] | None, whole: bool) -> RuleCheck:
    shape = _choice(raw, "json", ("any", "object", "array", "strings", "unique strings", "schema"))
    if shape == "schema":
        if schema is None:
            raise ConfigError("json: schema needs a prompt file that has a schema, and this one has none")
        return SchemaText(schema=schema, is_whole=whole)
    if shape.endswith("strings"):
        return JsonText(shape="array", of_texts=True, unique=shape != "strings", is_whole=whole)
    shapes: dict[str, Literal["object", "array"]] = {"object": "object", "array": "array"}
    return JsonText(shape=shapes.get(shape, "any"), is_whole=whole)


def _labels(raw: Any, whole: bool) -> Iterator[RuleCheck]:
    listed, case = raw, "exact"
    if isinstance(raw, Mapping):
        fields = _fields(raw, "labels", ("one_of", "case"))
        listed, case = fields.get("one_of"), _choice(fields.get("case", "exact"), "labels: case", ("exact", "ignore"))
    labels = _texts(listed, "labels", least=2)
    yield OneOf(labels=labels, case="ignore" if case == "ignore" else "exact", is_whole=whole)


def _number(raw: Any, whole: bool) -> Iterator[RuleCheck]:
    fields = _fields(raw, "number", ("min", "max", "integer"))
    low, high = fields.get("min"), fields.get("max")
    for bound in (low, high):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int | float)):
            raise ConfigError(f"number: min and max are numbers, not {preview(bound)}")
    if low is not None and high is not None and low > high:
        raise ConfigError(f"number: min {low} is above max {high}")
    yield NumberText(low=low, high=high, integer=_flag(fields.get("integer", False), "number: integer"), is_whole=whole)


def _case(raw: Any, whole: bool) -> Iterator[RuleCheck]:
    yield LetterCase(case="lower" if _choice(raw, "case", ("lower", "upper")) == "lower" else "upper", is_whole=whole)


def _tags(raw: Any, whole: bool) -> Iterator[RuleCheck]:
    for tag, wanted in _by_tag(raw, "tags"):
        low, high = _bounds(wanted, f"tags: {tag}")
        yield TagCount(tag=tag, low=low or 0, high=high, is_whole=whole)


def _tags_in(raw: Any, whole: bool) -> Iterator[RuleCheck]:
    for outer, inner in _by_tag(raw, "tags_in"):
        for tag, wanted in _by_tag(inner, f"tags_in: {outer}"):
            low, high = _bounds(wanted, f"tags_in: {outer}: {tag}")
            yield TagsInside(outer=outer, tag=tag, low=low or 0, high=high, is_whole=whole)


def _by_tag(raw: Any, kind: str) -> list[tuple[str, Any]]:
    if not isinstance(raw, Mapping) or not raw:
        raise ConfigError(f"{kind}: is {preview(raw)}; give tags, each with a number, or min and max")
    return [(str(tag).lower(), wanted) for tag, wanted in raw.items()]


def _language(raw: Any, whole: bool) -> Iterator[RuleCheck]:
    yield Language(name=_choice(raw, "language", tuple(SCRIPTS)), is_whole=whole)


def _closed(raw: Any, whole: bool) -> Iterator[RuleCheck]:
    yield _true(raw, "closed_tags", ClosedTags(is_whole=whole))


def _html(raw: Any, whole: bool) -> Iterator[RuleCheck]:
    yield _true(raw, "html", HasMarkup(is_whole=whole))


def _true(raw: Any, kind: str, check: RuleCheck) -> RuleCheck:
    if raw is not True:
        raise ConfigError(f"{kind}: is {preview(raw)}; it can only be true")
    return check


_KINDS: Mapping[str, Callable[[Any, bool], Iterator[RuleCheck]]] = {
    "labels": _labels,
    "number": _number,
    "case": _case,
    "language": _language,
    "contains": lambda raw, whole: iter([RequiredTexts(texts=_texts(raw, "contains"), is_whole=whole)]),
    "excludes": lambda raw, whole: iter([ForbiddenWords(words=_texts(raw, "excludes"), is_whole=whole)]),
    "starts_with": lambda raw, whole: iter(
        [StartsOrEndsWith(text=_text(raw, "starts_with"), where="start", is_whole=whole)]
    ),
    "ends_with": lambda raw, whole: iter([StartsOrEndsWith(text=_text(raw, "ends_with"), where="end", is_whole=whole)]),
    "order": lambda raw, whole: iter([OrderedTexts(texts=_texts(raw, "order", least=2), is_whole=whole)]),
    "matches": lambda raw, whole: iter([Matches(pattern=_text(raw, "matches"), is_whole=whole)]),
    "tags": _tags,
    "tags_in": _tags_in,
    "closed_tags": _closed,
    "html": _html,
}
