"""Collects the faults and notes of a prompt file, with their places."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalmark.core.errors import ConfigError
from evalmark.inputs.documents.document import DataPath, Document
from evalmark.inputs.documents.json_walk import json_path

from .input_values import json_preview


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Faults and notes about one document."""

    document: Document
    faults: list[tuple[int, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def line_of(self, at: DataPath) -> int:
        """Return the line of the value at a path, or of its nearest parent."""
        return int(self.document.place_of(at).rpartition(":")[2])

    def find(self, at: DataPath, sentence: str) -> None:
        """Record a fault of the value at a path."""
        self.find_in(self.line_of(at), f"{json_path(at)} {sentence}")

    def find_in(self, line: int, sentence: str) -> None:
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
            return json_preview(found)  # a version or a name that happens to be a number
        self.find(at, f"is {json_preview(found)}; it takes a text.")
        return None

    def mapping(self, at: DataPath, found: Any) -> Mapping[str, Any]:
        """Return the value as a mapping; empty for other values, with a fault."""
        if isinstance(found, Mapping):
            return found
        if found is not None:
            self.find(at, f"is {json_preview(found)}; it takes a mapping.")
        return {}

    def list(self, at: DataPath, found: Any) -> list[Any]:
        """Return the value as a list; empty for other values, with a fault."""
        if isinstance(found, list):
            return found
        if found is not None:
            self.find(at, f"is {json_preview(found)}; it takes a list.")
        return []

    def refuse(self) -> None:
        """Raise all faults, in the order of their lines.

        Raises:
            ConfigError: There is a fault.
        """
        if self.faults:
            raise ConfigError.of([sentence for _, sentence in sorted(self.faults, key=lambda fault: fault[0])])
