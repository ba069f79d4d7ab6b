"""Assertions as scorers with settings, and as entries of a row's metadata."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalmark.core.values.plain_data import canonical
from evalmark.interop.shared.assertions import SIMILAR
from evalmark.scoring.binding.text import text_of

Data = dict[str, Any]
_REFERENCES = (("similarity", "factuality"), ("equals", "structured_output"), ("contains",))
"""Scorers that compare with a reference; those that always need one come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionRequest:
    """One assertion, converted to a scorer with settings."""

    scorer: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    """The name of its promptfoo metric; empty if it has none."""
    expected: Any = None
    """The reference answer with which it compares; several in a list, if it takes the closest."""
    threshold: float | None = None
    judge: str = ""
    contexts: tuple[str, ...] = ()
    """The passages that the case needs."""
    change: str = ""
    """How its meaning differs from that in promptfoo; empty if it does not."""
    transforms: tuple[str, ...] = ()
    """JavaScript that changes the output before a judge or an embedding model sees it."""
    members: "tuple[AssertionRequest, ...]" = ()
    """The assertions of a set."""
    where: str = ""
    """The location and the type of the assertion in the file."""

    @property
    def shape(self) -> list[Any]:
        """What assertions must have in common to become one metric: everything but the reference answer."""
        options = [self.name, self.threshold, self.judge, self.expected is not None, list(self.transforms)]
        return [self.scorer, dict(self.settings), *options]


class UnsupportedAssertionError(Exception):
    """An assertion cannot be converted; it has the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionScope:
    """What the assertions of a test may refer to."""

    variables: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    """The folder of the config."""
    graders: Mapping[str, str] = field(default_factory=dict)
    """The models that take the place of providers."""


def reference_of(requests: Sequence[AssertionRequest]) -> Any:
    """Choose the reference answer of a case: that of similarity or factuality, else that of equals or contains."""
    for scorers in _REFERENCES:
        for one in requests:
            is_several = one.scorer in SIMILAR and isinstance(one.expected, list)
            if one.expected is not None and one.scorer in scorers and not is_several:
                return one.expected
    return None


def row_check(one: AssertionRequest, expected: Any, group: str = "") -> Data:
    """Convert a check to an entry of a row's metadata; one with another reference than the row's has it in its settings."""
    scorer, settings = one.scorer, dict(one.settings)
    if one.expected is not None and canonical(one.expected) != canonical(expected):
        if scorer == "equals":
            scorer, settings = "regex", {"pattern": re.escape(text_of(one.expected)), "full": True}
        elif scorer == "contains":
            settings["any"] = [text_of(one.expected)]
        else:
            settings["expected"] = one.expected
    options = {
        "name": one.name or None,
        "threshold": one.threshold,
        "group": group or None,
        "transform": list(one.transforms) or None,
    }
    return {scorer: settings | {key: value for key, value in options.items() if value is not None}}
