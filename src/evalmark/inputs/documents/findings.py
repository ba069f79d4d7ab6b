"""Collect the faults and notes of a file, with their places."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.errors import ConfigError

from .document import DataPath, Document
from .json_walk import json_path

LONGEST = 60
"""The most characters of a value that a message shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Faults and notes about one document."""

    document: Document
    faults: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def line_of(self, at: DataPath) -> int:
        """Return the line of the value at a path, or of its nearest parent."""
        return int(self.document.place_of(at).rpartition(":")[2])

    def add_fault(self, at: DataPath, sentence: str) -> None:
        """Record a fault of the value at a path."""
        self.add_fault_in_line(self.line_of(at), f"{json_path(at)} {sentence}")

    def add_fault_in_line(self, line: int, sentence: str) -> None:
        """Record a fault in a line."""
        self.faults.append((line, f"{self.document.path}:{line}: {sentence}"))

    def note(self, line: int, sentence: str) -> None:
        """Record a note for the user."""
        self.notes.append(f"{self.document.path}:{line}: {sentence}")

    def text(self, at: DataPath, found: Any) -> str | None:
        """Return the value as a text; None for other values, with a fault."""
        if found is None or isinstance(found, str):
            return found
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return json_excerpt(found)  # a version or a name that happens to be a number
        self.add_fault(at, f"is {json_excerpt(found)}; it takes a text.")
        return None

    def mapping(self, at: DataPath, found: Any) -> Mapping[str, Any]:
        """Return the value as a mapping; empty for other values, with a fault."""
        if isinstance(found, Mapping):
            return found
        if found is not None:
            self.add_fault(at, f"is {json_excerpt(found)}; it takes a mapping.")
        return {}

    def list(self, at: DataPath, found: Any) -> list[Any]:
        """Return the value as a list; empty for other values, with a fault."""
        if isinstance(found, list):
            return found
        if found is not None:
            self.add_fault(at, f"is {json_excerpt(found)}; it takes a list.")
        return []

    def raise_faults(self) -> None:
        """Raise all faults, in the order of their lines.

        Raises:
            ConfigError: there is a fault.
        """
        if self.faults:
            raise ConfigError.of([sentence for _, sentence in sorted(self.faults, key=lambda fault: fault[0])])


def json_excerpt(value: Any) -> str:
    r"""Format a value for a message: as JSON, on one line, truncated.

    >>> print(json_excerpt({"größe": "\x9b1m"}))
    {"größe": "\x9b1m"}
    """
    text = json.dumps(_shortened(value), ensure_ascii=False, default=lambda other: f"a {type(other).__name__}")
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: LONGEST + 1])
    return safe if len(text) <= LONGEST else f"{safe[:LONGEST]}…"


def _shortened(value: Any) -> Any:
    """Return as much of a large value as a message can show."""
    if isinstance(value, str):
        return value[: LONGEST + 1]
    if isinstance(value, (list, dict)) and len(value) > LONGEST:
        return "a list" if isinstance(value, list) else "a mapping"
    return value
