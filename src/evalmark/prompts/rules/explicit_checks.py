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


def explicit_check(said: Any, schema: Mapping[str, Any] | None = None) -> RuleCheck | None:
    """Return the check that a person wrote; None for `none`. `schema` is the prompt's, for `json: schema`.

    >>> explicit_check({"paragraphs": 1, "words": {"max": 80}}).says
    'exactly 1 paragraph, at most 80 words'

    Raises:
        ConfigError: The check is invalid.
    """
    if said == NO_CHECK:
        return None
    if not isinstance(said, Mapping) or not set(said) - {PARTIAL}:
        raise ConfigError(
            f"a check is {NO_CHECK}, or names what is checked, such as {{words: {{max: 80}}}}; not {preview(said)}"
        )
    whole = not _flag(said.get(PARTIAL, False), PARTIAL)
    found: list[RuleCheck] = []
    for kind, wanted in said.items():
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


def _bounds(said: Any, kind: str) -> tuple[int | None, int | None]:
    """Return the bounds: `3` for exactly 3, or `min` and `max`, of which one is optional."""
    if _is_count(said):
        return said, said
    if not isinstance(said, Mapping) or not said or set(said) - {"min", "max"}:
        raise ConfigError(f"{kind}: is {preview(said)}; give a number, or min and max")
    low, high = said.get("min"), said.get("max")
    if not all(bound is None or _is_count(bound) for bound in (low, high)):
        raise ConfigError(f"{kind}: min and max are whole numbers from 0, not {preview(said)}")
    if low is not None and high is not None and low > high:
        raise ConfigError(f"{kind}: min {low} is above max {high}")
    return low, high


def _is_count(said: Any) -> bool:
    return isinstance(said, int) and not isinstance(said, bool) and said >= 0


def _texts(said: Any, kind: str, least: int = 1) -> tuple[str, ...]:
    listed = [said] if isinstance(said, str) and least == 1 else said
    if not isinstance(listed, list | tuple) or len(listed) < least or not all(isinstance(t, str) and t for t in listed):
        other = isinstance(listed, list | tuple) and not all(isinstance(text, str) for text in listed)
        hint = "; put numbers, true and false between quotes" if other else ""
        raise ConfigError(
            f"{kind}: is {preview(said)}, not a list of texts{'' if least == 1 else f', {least} at least'}{hint}"
        )
    return tuple(listed)


def _text(said: Any, kind: str) -> str:
    if not isinstance(said, str) or not said:
        raise ConfigError(f"{kind}: is {preview(said)}, not a text")
    return said


def _flag(said: Any, kind: str) -> bool:
    if not isinstance(said, bool):
        raise ConfigError(f"{kind}: is {preview(said)}, not true or false")
    return said


def _choice(said: Any, kind: str, known: tuple[str, ...]) -> str:
    if said not in known:
        raise ConfigError(f"{kind}: is {preview(said)}, not one of {', '.join(known)}")
    return str(said)


def _fields(said: Any, kind: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(said, Mapping) or set(said) - set(known):
        raise ConfigError(f"{kind}: is {preview(said)}; it takes {', '.join(known)}")
    return said


def _json(said: Any, schema: Mapping[str, Any] | None, whole: bool) -> RuleCheck:
    shape = _choice(said, "json", ("any", "object", "array", "strings", "unique strings", "schema"))
    if shape == "schema":
        if schema is None:
            raise ConfigError("json: schema needs a prompt file that has a schema, and this one has none")
        return SchemaText(schema=schema, is_whole=whole)
    if shape.endswith("strings"):
        return JsonText(shape="array", of_texts=True, unique=shape != "strings", is_whole=whole)
    shapes: dict[str, Literal["object", "array"]] = {"object": "object", "array": "array"}
    return JsonText(shape=shapes.get(shape, "any"), is_whole=whole)


def _labels(said: Any, whole: bool) -> Iterator[RuleCheck]:
    listed, case = said, "exact"
    if isinstance(said, Mapping):
        fields = _fields(said, "labels", ("one_of", "case"))
        listed, case = fields.get("one_of"), _choice(fields.get("case", "exact"), "labels: case", ("exact", "ignore"))
    labels = _texts(listed, "labels", least=2)
    yield OneOf(labels=labels, case="ignore" if case == "ignore" else "exact", is_whole=whole)


def _number(said: Any, whole: bool) -> Iterator[RuleCheck]:
    fields = _fields(said, "number", ("min", "max", "integer"))
    low, high = fields.get("min"), fields.get("max")
    for bound in (low, high):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int | float)):
            raise ConfigError(f"number: min and max are numbers, not {preview(bound)}")
    if low is not None and high is not None and low > high:
        raise ConfigError(f"number: min {low} is above max {high}")
    yield NumberText(low=low, high=high, integer=_flag(fields.get("integer", False), "number: integer"), is_whole=whole)


def _case(said: Any, whole: bool) -> Iterator[RuleCheck]:
    yield LetterCase(case="lower" if _choice(said, "case", ("lower", "upper")) == "lower" else "upper", is_whole=whole)


def _tags(said: Any, whole: bool) -> Iterator[RuleCheck]:
    for tag, wanted in _by_tag(said, "tags"):
        low, high = _bounds(wanted, f"tags: {tag}")
        yield TagCount(tag=tag, low=low or 0, high=high, is_whole=whole)


def _tags_in(said: Any, whole: bool) -> Iterator[RuleCheck]:
    for outer, inner in _by_tag(said, "tags_in"):
        for tag, wanted in _by_tag(inner, f"tags_in: {outer}"):
            low, high = _bounds(wanted, f"tags_in: {outer}: {tag}")
            yield TagsInside(outer=outer, tag=tag, low=low or 0, high=high, is_whole=whole)


def _by_tag(said: Any, kind: str) -> list[tuple[str, Any]]:
    if not isinstance(said, Mapping) or not said:
        raise ConfigError(f"{kind}: is {preview(said)}; give tags, each with a number, or min and max")
    return [(str(tag).lower(), wanted) for tag, wanted in said.items()]


def _language(said: Any, whole: bool) -> Iterator[RuleCheck]:
    yield Language(name=_choice(said, "language", tuple(SCRIPTS)), is_whole=whole)


def _closed(said: Any, whole: bool) -> Iterator[RuleCheck]:
    yield _true(said, "closed_tags", ClosedTags(is_whole=whole))


def _html(said: Any, whole: bool) -> Iterator[RuleCheck]:
    yield _true(said, "html", HasMarkup(is_whole=whole))


def _true(said: Any, kind: str, check: RuleCheck) -> RuleCheck:
    if said is not True:
        raise ConfigError(f"{kind}: is {preview(said)}; it can only be true")
    return check


_KINDS: Mapping[str, Callable[[Any, bool], Iterator[RuleCheck]]] = {
    "labels": _labels,
    "number": _number,
    "case": _case,
    "language": _language,
    "contains": lambda said, whole: iter([RequiredTexts(texts=_texts(said, "contains"), is_whole=whole)]),
    "excludes": lambda said, whole: iter([ForbiddenWords(words=_texts(said, "excludes"), is_whole=whole)]),
    "starts_with": lambda said, whole: iter(
        [StartsOrEndsWith(text=_text(said, "starts_with"), where="start", is_whole=whole)]
    ),
    "ends_with": lambda said, whole: iter(
        [StartsOrEndsWith(text=_text(said, "ends_with"), where="end", is_whole=whole)]
    ),
    "order": lambda said, whole: iter([OrderedTexts(texts=_texts(said, "order", least=2), is_whole=whole)]),
    "matches": lambda said, whole: iter([Matches(pattern=_text(said, "matches"), is_whole=whole)]),
    "tags": _tags,
    "tags_in": _tags_in,
    "closed_tags": _closed,
    "html": _html,
}
