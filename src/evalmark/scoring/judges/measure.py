"""In which unit a judge speaks, what its word is worth from 0 to 1, and how it is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

MeasureKind = Literal["scale", "boolean", "percentage", "choice"]

KEYS: Mapping[MeasureKind, str] = {"scale": "score", "percentage": "score", "boolean": "pass", "choice": "answer"}
"""Under which name of its reply a judge gives its verdict."""
REASON = "reason"


class Option(NamedTuple):
    """One answer that a judge may choose."""

    worth: float | None
    """From 0 to 1; None where choosing it means that the judge cannot tell."""
    meaning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What a verdict may be: a whole number, a truth value, a percentage, or one of several options.

    >>> Measure(kind="scale", low=1, high=5).value_of(4)
    0.75
    """

    kind: MeasureKind
    description: str = ""
    """What the verdict stands for, in the words of the metric's author."""
    low: int = 0
    """The least number of a scale."""
    high: int = 100
    """The greatest number of a scale."""
    options: Mapping[str, Option] = field(default_factory=dict)
    """Those of a choice, by what the judge calls them."""
    words: tuple[str, str] | None = None
    """Of a boolean that is asked for in free text: the words for true and for false on its last line, such as OK and ERR."""

    @property
    def key(self) -> str:
        """Under which name of the reply the verdict stands."""
        return KEYS[self.kind]

    @property
    def unit(self) -> str:
        """Of the raw value, as reports print it."""
        return {"scale": f"{self.low}..{self.high}", "percentage": "%", "choice": "choice", "boolean": ""}[self.kind]

    def value_of(self, raw: Any) -> float | None:
        """A verdict of this measure from 0 to 1; None for an option without a worth."""
        if self.kind == "choice":
            return self.options[raw].worth
        if self.kind == "boolean":
            return float(raw)
        low, high = (self.low, self.high) if self.kind == "scale" else (0, 100)
        return float((raw - low) / (high - low))

    def is_extreme(self, raw: Any) -> bool | None:
        """Whether a verdict is the greatest there is (True), the least (False), or neither (None)."""
        value = self.value_of(raw)
        worths = [o.worth for o in self.options.values() if o.worth is not None] or [0.0, 1.0]
        if value is None or min(worths) == max(worths):
            return None
        return {max(worths): True, min(worths): False}.get(value)

    def schema(self) -> Mapping[str, Any] | None:
        """The JSON Schema of a reply: the reason first, then the verdict; None where free text is asked for.

        Bounds of numbers are left to the reader of the reply, since some endpoints reject schemas with them.
        """
        return None if self.words is not None else _schema(self.kind, tuple(self.options))


@lru_cache(maxsize=256)
def _schema(kind: MeasureKind, options: tuple[str, ...]) -> Mapping[str, Any]:
    """The same object for every question: providers work out once what a schema comes to, and know it again by that."""
    types = {"scale": "integer", "percentage": "number", "boolean": "boolean"}
    verdict = {"type": "string", "enum": list(options)} if kind == "choice" else {"type": types[kind]}
    return object_schema({REASON: {"type": "string"}, KEYS[kind]: verdict})


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object that has these properties and no others, as strict endpoints want it."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
