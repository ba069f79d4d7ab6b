"""Outputs that have to be JSON, or JSON that fits a schema."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalmark.errors import ConfigError
from evalmark.matching import NotJsonError, json_of
from evalmark.scorers import JsonSchema
from evalmark.scoring import shown
from evalmark.values import Case, Output

from .finding import Finding
from .phrases import MUST, OUTPUT

Shape = Literal["any", "object", "array"]
_JSON = re.compile(
    rf"^(?:{OUTPUT}\s+{MUST}|(?:please\s+)?(?:return|answer with|answer in|respond with|respond in|reply with|output)\s+(?:only\s+)?(?:an?\s+)?)"
    r"(?:valid\s+|well-formed\s+|single\s+)*JSON(?:\s+(?P<shape>object|array|list|format|string|document))?(?P<tail>.*)$",
    re.IGNORECASE,
)
_ARRAY = re.compile(
    rf"^{OUTPUT}\s+{MUST}(?:valid\s+)?(?:array|list)\s+(?:with|in|of)\s+(?:the\s+)?(?:specific\s+)?(?:format|form)\s*\[[\"']",
    re.IGNORECASE,
)
_ITEMS = re.compile(
    r"^each (?:element|item|entry)\s+(?:within|in|of)\s+the\s+(?:output\s+)?(?:array|list)\s+(?:must|should)\s+be\s+(?:an?\s+)?"
    r"(?:(?P<unique>unique)|distinct|separate|individual|single)?\s*string\b",
    re.IGNORECASE,
)
_SCHEMA = re.compile(r"\b(?:schema)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonText:
    """The output is JSON and nothing else, of a shape.

    >>> JsonText(shape="array")('{"a": 1}').reason
    'JSON, and no array'
    """

    shape: Shape = "any"
    of_texts: bool = False
    """Whether it is a list of texts."""
    unique: bool = False
    """Whether no two items of the list are alike."""
    is_whole: bool = True

    @property
    def says(self) -> str:
        """The shape."""
        if self.of_texts:
            return f"a JSON array of {'unique ' if self.unique else ''}texts"
        return "JSON" if self.shape == "any" else f"a JSON {self.shape}"

    def __call__(self, text: str) -> Finding:
        """Read it."""
        try:
            data = json_of(text.strip())
        except NotJsonError as error:
            return Finding(False, f"{shown(text.strip())} is not JSON: {error}")
        wanted = {"object": dict, "array": list}.get(self.shape, object)
        if not isinstance(data, wanted):
            return Finding(False, f"JSON, and no {self.shape}")
        wrong = _no_texts(data, self.unique) if self.of_texts and isinstance(data, list) else ""
        return Finding(not wrong, wrong or self.says)


def _no_texts(data: list[Any], unique: bool) -> str:
    """What is wrong with a list of texts."""
    strange = next((item for item in data if not isinstance(item, str)), None)
    if strange is not None or None in data:
        return f"{shown(strange)} is no text"
    twice = next((item for item, number in Counter(data).items() if number > 1), None) if unique else None
    return "" if twice is None else f"{shown(twice)} stands there twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaText:
    """The output is JSON that fits the schema that the prompt asks for."""

    schema: Mapping[str, Any]
    is_whole: bool = True
    says: str = "JSON that fits the prompt's schema"
    checker: JsonSchema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "checker", JsonSchema(self.schema))

    def __call__(self, text: str) -> Finding:
        """Hold it against the schema."""
        score = self.checker(Case(id="rule"), Output(value=text))
        return Finding(None, score.reason) if score.passed is None else Finding(score.passed, score.reason)


def structure_in(rule: str, schema: Mapping[str, Any] | None = None) -> JsonText | SchemaText | None:
    """What a rule asks of the form of an output; `schema` is that of the prompt."""
    if match := _ITEMS.match(rule):
        return JsonText(shape="array", of_texts=True, unique=match["unique"] is not None, is_whole=False)
    if _ARRAY.match(rule):
        return JsonText(shape="array", is_whole=False)
    if match := _JSON.match(rule):
        shapes: dict[str, Shape] = {"object": "object", "array": "array", "list": "array"}
        shape = shapes.get((match["shape"] or "").lower(), "any")
        if schema is not None and _SCHEMA.search(match["tail"]):
            try:
                return SchemaText(schema=schema)
            except ConfigError:  # what is no valid schema checks nothing
                return None
        return JsonText(shape=shape, is_whole=re.fullmatch(r"\s*[.!]?\s*", match["tail"]) is not None)
    return None
