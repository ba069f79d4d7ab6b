"""The effort presets: how many tests are made, and in how many calls."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.core.suggestions import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The amount of tests and calls."""

    tests_per_rule: int = 3
    """Tests per rule in each generation."""
    generations: int = 1
    """How often tests are requested, each time with the earlier ones in view."""
    expansions: int = 0
    """How often each test is made longer."""
    max_rules: int = 20
    """Tests are made for this many rules, and as many inverse rules."""
    max_rules_per_call: int = 5
    """Rules shown in one call."""
    split: bool = True
    """Whether rules and inverse rules get separate calls."""


EFFORTS: Mapping[str, Effort] = MappingProxyType(
    {
        "min": Effort(tests_per_rule=1, max_rules=6, max_rules_per_call=100, split=False),
        "low": Effort(max_rules=3, max_rules_per_call=100),
        "medium": Effort(),
        "high": Effort(generations=2, expansions=1, max_rules=50, max_rules_per_call=2),
    }
)
"""The presets by name."""
RANGES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "tests_per_rule": (1, 10),
        "generations": (1, 10),
        "expansions": (0, 5),
        "max_rules": (1, 1_000),
        "max_rules_per_call": (1, 1_000),
    }
)
"""The allowed range of each number."""


def effort_named(name: str, **numbers: int | None) -> Effort:
    """Return the preset of a name, with given numbers replaced; None keeps the preset's number.

    >>> effort_named("low", tests_per_rule=5).tests_per_rule, effort_named("low", max_rules=None).max_rules
    (5, 3)

    Raises:
        ConfigError: There is no such preset, or a number is out of range; the message names all faults.
    """
    advice = did_you_mean(name.lower(), EFFORTS, "{}") or f"it is one of {', '.join(EFFORTS)}."
    faults = [] if name in EFFORTS else [f"--effort: there is no effort {name!r}; {advice}"]
    raw: dict[str, Any] = {key: value for key, value in numbers.items() if value is not None}
    for key, value in raw.items():
        low, high = RANGES[key]
        if not low <= value <= high:
            faults.append(f"--{key.replace('_', '-')} is {value}; it takes a whole number from {low} to {high}.")
    if faults:
        raise ConfigError.of(faults)
    return replace(EFFORTS[name], **raw)
