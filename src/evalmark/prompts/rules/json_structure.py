"""Rules that the output is JSON, or JSON that fits a schema."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalmark.core.errors import ConfigError
from evalmark.core.values.case import Case, Output
from evalmark.scoring.binding.text import preview
from evalmark.scoring.builtin.json_checks import JsonSchema
from evalmark.scoring.matching.json_text import NotJsonError, as_json

from .checks import CheckResult, Requirement
from .phrases import Clause, MaskedRule, is_ambiguous

Shape = Literal["any", "object", "array"]
_JSON = re.compile(
    r"be\s+(?:only\s+|strictly\s+)?(?:(?:formatted|structured|returned|provided|written|given)\s+)?(?:(?:in|as)\s+)?(?:an?\s+|one\s+)?"
    r"(?:(?:valid|well-formed|single|raw|strict|pure|parseable|parsable|clean),?\s+)*JSON(?![-\w])(?:\s+(?P<shape>object|array|list|format|document)\b)?(?P<tail>.*)",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"(?:,?\s*(?:(?:and\s+)?nothing\s+else|only|without\s+(?:any\s+)?(?:markdown|extra\s+text|other\s+text|additional\s+text|explanations?|commentary|"
    r"code\s+fences?|backticks|formatting)))*",
    re.IGNORECASE,
)
_MORE = re.compile(
    r",?\s+(?:with|containing|having|of|whose|that|which|matching|conforming\s+to|in\s+the\s+following\s+(?:format|structure))\s.+",
    re.I,
)
_WITH = re.compile(r",?\s+(?:with|containing|having)\s", re.IGNORECASE)
_FIELDS = re.compile(r"\b(?:keys?|fields?|propert(?:y|ies)|attributes?|structure|schema|format)\b", re.IGNORECASE)
"""The parts of a JSON object; anything else may be separate from it."""
_OTHERWISE = re.compile(
    r"\b(?:or|follow\w*\s+by|followed|wrapped|enclosed|inside|within|embedded|fence\w*|block|lines?|before|after|string|comments?|plus|markdown|"
    r"and\s+(?:a|an|the|then)|explanation)\b",
    re.IGNORECASE,
)
_ARRAY = re.compile(
    r"be\s+(?:(?:structured|formatted|returned|provided|given|presented)\s+)?(?:as\s+)?(?:an?\s+|the\s+)?(?:array|list)\s+(?:with|in|of)\s+"
    r"(?:the\s+)?(?:specific\s+)?(?:format|form)\s*\[\u27e6\d+\u27e7\](?:,.*)?",
    re.IGNORECASE,
)
_ITEMS = re.compile(
    r"each\s+(?:element|item|entry)\s+(?:within|in|of)\s+the\s+output\s+(?:array|list)\s+(?:must|should|shall)\s+be\s+(?:an?\s+)?"
    r"(?:(?P<unique>unique)|distinct|separate|individual|single)?\s*string\b(?!\s+or\b).*",
    re.IGNORECASE,
)
_STRINGS = re.compile(r"\s+of\s+(?:(?P<unique>unique|distinct)\s+)?strings", re.IGNORECASE)
_SCHEMA = re.compile(r"\bschema\b", re.IGNORECASE)
_FENCED = re.compile(r"\s*```[\w-]*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonText:
    """The output is JSON of a certain shape and nothing else.

    >>> JsonText(shape="array")('{"a": 1}').reason
    'JSON, and no array'
    """

    shape: Shape = "any"
    of_texts: bool = False
    """Whether it is a list of texts."""
    unique: bool = False
    """Whether all items of the list must differ."""
    is_whole: bool = True

    @property
    def description(self) -> str:
        if self.of_texts:
            return f"a JSON array of {'unique ' if self.unique else ''}texts"
        return "JSON" if self.shape == "any" else f"a JSON {self.shape}"

    def __call__(self, text: str) -> CheckResult:
        try:
            data = as_json(text.strip())
        except NotJsonError as error:
            return self._not_json(text, error)
        python_type = {"object": dict, "array": list}.get(self.shape, object)
        if not isinstance(data, python_type):
            return CheckResult(False, f"JSON, and no {self.shape}")
        wrong = _no_texts(data, self.unique) if self.of_texts and isinstance(data, list) else ""
        return CheckResult(not wrong, wrong or self.description)

    def _not_json(self, text: str, error: NotJsonError) -> CheckResult:
        """Return the result for an output that is not JSON; JSON in a code block is undecided."""
        fenced = _FENCED.fullmatch(text)
        if fenced is not None and self(fenced[1]).holds is not False:
            return CheckResult(None, "the JSON is in a code block; the rule does not say whether that is allowed")
        return CheckResult(False, f"{preview(text.strip())} is not JSON: {error}")


def _no_texts(data: list[Any], unique: bool) -> str:
    """Return what is wrong with a list of texts."""
    strange = next((item for item in data if not isinstance(item, str)), None)
    if strange is not None or None in data:
        return f"{preview(strange)} is not a text"
    twice = next((item for item, number in Counter(data).items() if number > 1), None) if unique else None
    return "" if twice is None else f"{preview(twice)} occurs twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaText:
    """The output is JSON that fits the prompt's schema."""

    schema: Mapping[str, Any]
    is_whole: bool = True
    description: str = "JSON that fits the prompt's schema"
    checker: JsonSchema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "checker", JsonSchema(self.schema))

    def __call__(self, text: str) -> CheckResult:
        score = self.checker(Case(id="rule"), Output(value=text))
        return CheckResult(None, score.reason) if score.passed is None else CheckResult(score.passed, score.reason)


def structure_in(clause: Clause, rule: MaskedRule, schema: Mapping[str, Any] | None = None) -> Requirement | None:
    """Return what a clause requires of the output's form; `schema` is the prompt's."""
    if clause.negated:
        return None
    if _ARRAY.fullmatch(clause.text):
        return Requirement((JsonText(shape="array"),), is_whole=False)
    match = _JSON.fullmatch(clause.text)
    if match is None:
        return None
    tail = match["tail"].rstrip(" .:")
    shapes: dict[str, Shape] = {"object": "object", "array": "array", "list": "array"}
    shape = shapes.get((match["shape"] or "").lower(), "any")
    if _ONLY.fullmatch(tail):
        return Requirement((JsonText(shape=shape),))
    if (texts := _STRINGS.fullmatch(tail)) is not None and shape == "array":
        return Requirement((JsonText(shape=shape, of_texts=True, unique=texts["unique"] is not None),))
    if (
        (_WITH.match(tail) and not _FIELDS.search(tail))
        or _OTHERWISE.search(tail)
        or is_ambiguous(tail)
        or not _MORE.fullmatch(tail)
    ):
        return None
    if schema is not None and _SCHEMA.search(tail):
        return _schema(schema)
    return Requirement((JsonText(shape=shape),), is_whole=False)


def _schema(schema: Mapping[str, Any]) -> Requirement | None:
    try:
        return Requirement((SchemaText(schema=schema),))
    except ConfigError:  # an invalid schema gives no check
        return None


def items_in(sentence: str) -> Requirement | None:
    """Return what a sentence requires of each item of the output list."""
    match = _ITEMS.fullmatch(sentence)
    if match is None or re.search(r"\bor\b", sentence, re.IGNORECASE):
        return None
    return Requirement((JsonText(shape="array", of_texts=True, unique=match["unique"] is not None),), is_whole=False)
