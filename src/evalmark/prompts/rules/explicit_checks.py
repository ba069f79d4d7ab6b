"""Parses the explicit checks that people write for rules: `{words: {max: 80}}`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from evalmark.core.errors import ConfigError
from evalmark.core.suggestions import did_you_mean
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
    def description(self) -> str:
        return f"matches {preview(self.pattern)}"

    def __call__(self, text: str) -> CheckResult:
        """Match the output; a pattern that exceeds its time limit is undecided."""
        score = self.scorer(Case(id="rule"), Output(value=text.strip()))
        return CheckResult(score.passed, score.reason)


def explicit_check(raw: Any, schema: Mapping[str, Any] | None = None) -> RuleCheck | None:
    """Return the check that a person wrote; None for `none`. `schema` is the prompt's, for `json: schema`.

    >>> explicit_check({"paragraphs": 1, "words": {"max": 80}}).description
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
    found = [check for kind, value in raw.items() if kind != PARTIAL for check in _checks(str(kind), value, schema)]
    checks = tuple(replace(check, is_whole=whole) for check in found)  # type: ignore[type-var]
    return checks[0] if len(checks) == 1 else AllOf(checks=checks, is_whole=whole)


def _checks(kind: str, raw: Any, schema: Mapping[str, Any] | None) -> list[RuleCheck]:
    if kind in _UNITS:
        low, high = _bounds(raw, kind)
        return [Limit(unit=_UNITS[kind], low=low, high=high)]
    if kind == "json":
        return [_json(raw, schema)]
    if kind in _KINDS:
        found = _KINDS[kind](raw)
        return found if isinstance(found, list) else [found]
    known = [*_UNITS, "json", *_KINDS, PARTIAL]
    advice = did_you_mean(kind, known, "{}") or f"it is one of {', '.join(known)}"
    raise ConfigError(f"there is no check {kind!r}; {advice}")


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


def _json(raw: Any, schema: Mapping[str, Any] | None) -> RuleCheck:
    shape = _choice(raw, "json", ("any", "object", "array", "strings", "unique strings", "schema"))
    if shape == "schema":
        if schema is None:
            raise ConfigError("json: schema needs a prompt file that has a schema, and this one has none")
        return SchemaText(schema=schema)
    if shape.endswith("strings"):
        return JsonText(shape="array", of_texts=True, unique=shape != "strings")
    shapes: dict[str, Literal["object", "array"]] = {"object": "object", "array": "array"}
    return JsonText(shape=shapes.get(shape, "any"))


def _labels(raw: Any) -> RuleCheck:
    listed, case = raw, "exact"
    if isinstance(raw, Mapping):
        fields = _fields(raw, "labels", ("one_of", "case"))
        listed, case = fields.get("one_of"), _choice(fields.get("case", "exact"), "labels: case", ("exact", "ignore"))
    return OneOf(labels=_texts(listed, "labels", least=2), case="ignore" if case == "ignore" else "exact")


def _number(raw: Any) -> RuleCheck:
    fields = _fields(raw, "number", ("min", "max", "integer"))
    low, high = fields.get("min"), fields.get("max")
    for bound in (low, high):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int | float)):
            raise ConfigError(f"number: min and max are numbers, not {preview(bound)}")
    if low is not None and high is not None and low > high:
        raise ConfigError(f"number: min {low} is above max {high}")
    return NumberText(low=low, high=high, integer=_flag(fields.get("integer", False), "number: integer"))


def _case(raw: Any) -> RuleCheck:
    return LetterCase(case="lower" if _choice(raw, "case", ("lower", "upper")) == "lower" else "upper")


def _tags(raw: Any) -> list[RuleCheck]:
    return [TagCount(tag=tag, low=low, high=high) for tag, low, high in _tag_bounds(raw, "tags")]


def _tags_in(raw: Any) -> list[RuleCheck]:
    return [
        TagsInside(outer=outer, tag=tag, low=low, high=high)
        for outer, inner in _by_tag(raw, "tags_in")
        for tag, low, high in _tag_bounds(inner, f"tags_in: {outer}")
    ]


def _tag_bounds(raw: Any, kind: str) -> Iterator[tuple[str, int, int | None]]:
    for tag, bounds in _by_tag(raw, kind):
        low, high = _bounds(bounds, f"{kind}: {tag}")
        yield tag, low or 0, high


def _by_tag(raw: Any, kind: str) -> list[tuple[str, Any]]:
    if not isinstance(raw, Mapping) or not raw:
        raise ConfigError(f"{kind}: is {preview(raw)}; give tags, each with a number, or min and max")
    return [(str(tag).lower(), value) for tag, value in raw.items()]


def _if_true(raw: Any, kind: str, check: RuleCheck) -> RuleCheck:
    if raw is not True:
        raise ConfigError(f"{kind}: is {preview(raw)}; it can only be true")
    return check


_KINDS: Mapping[str, Callable[[Any], RuleCheck | list[RuleCheck]]] = {
    "labels": _labels,
    "number": _number,
    "case": _case,
    "language": lambda raw: Language(name=_choice(raw, "language", tuple(SCRIPTS))),
    "contains": lambda raw: RequiredTexts(texts=_texts(raw, "contains")),
    "excludes": lambda raw: ForbiddenWords(words=_texts(raw, "excludes")),
    "starts_with": lambda raw: StartsOrEndsWith(text=_text(raw, "starts_with"), where="start"),
    "ends_with": lambda raw: StartsOrEndsWith(text=_text(raw, "ends_with"), where="end"),
    "order": lambda raw: OrderedTexts(texts=_texts(raw, "order", least=2)),
    "matches": lambda raw: Matches(pattern=_text(raw, "matches")),
    "tags": _tags,
    "tags_in": _tags_in,
    "closed_tags": lambda raw: _if_true(raw, "closed_tags", ClosedTags()),
    "html": lambda raw: _if_true(raw, "html", HasMarkup()),
}
