"""The kinds of verdict a judge can give, their value from 0 to 1, and their JSON Schema."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

MeasureKind = Literal["scale", "boolean", "percentage", "choice"]

KEYS: Mapping[MeasureKind, str] = {"scale": "score", "percentage": "score", "boolean": "pass", "choice": "answer"}
"""The key of the reply that holds the verdict."""
REASON = "reason"


class Option(NamedTuple):
    """One option of a choice."""

    worth: float | None
    """From 0 to 1; None if the option means that the judge cannot tell."""
    meaning: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """The allowed verdicts: a whole number, a truth value, a percentage, or one of several options.

    >>> Measure(kind="scale", low=1, high=5).value_of(4)
    0.75
    """

    kind: MeasureKind
    description: str = ""
    """What the verdict means, in the words of the metric's author."""
    low: int = 0
    """The smallest number of a scale."""
    high: int = 100
    """The largest number of a scale."""
    options: Mapping[str, Option] = field(default_factory=dict)
    """The options of a choice, by name."""
    words: tuple[str, str] | None = None
    """For a boolean in free text: the words for true and false on the last line, such as OK and ERR."""

    @property
    def key(self) -> str:
        """The key of the reply that holds the verdict."""
        return KEYS[self.kind]

    @property
    def unit(self) -> str:
        """The unit of the raw value in reports."""
        return {"scale": f"{self.low}..{self.high}", "percentage": "%", "choice": "choice", "boolean": ""}[self.kind]

    def value_of(self, raw: Any) -> float | None:
        """Return the value of a verdict from 0 to 1; None for an option without a worth."""
        if self.kind == "choice":
            return self.options[raw].worth
        if self.kind == "boolean":
            return float(raw)
        low, high = (self.low, self.high) if self.kind == "scale" else (0, 100)
        return float((raw - low) / (high - low))

    def is_extreme(self, raw: Any) -> bool | None:
        """Return True for the best possible verdict, False for the worst, None for any other."""
        value = self.value_of(raw)
        worths = [o.worth for o in self.options.values() if o.worth is not None] or [0.0, 1.0]
        if value is None or min(worths) == max(worths):
            return None
        return {max(worths): True, min(worths): False}.get(value)

    def schema(self) -> Mapping[str, Any] | None:
        """Return the JSON Schema of a reply: the reason, then the verdict; None for free text.

        Bounds of numbers are checked when the reply is read, since some endpoints reject schemas with them.
        """
        return None if self.words is not None else _schema(self.kind, tuple(self.options))


@lru_cache(maxsize=256)
def _schema(kind: MeasureKind, options: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the same object for every question: providers recognize it and process a schema once."""
    types = {"scale": "integer", "percentage": "number", "boolean": "boolean"}
    verdict = {"type": "string", "enum": list(options)} if kind == "choice" else {"type": types[kind]}
    return object_schema({REASON: {"type": "string"}, KEYS[kind]: verdict})


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these properties, as strict endpoints require it."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
