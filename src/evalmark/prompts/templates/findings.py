"""What is wrong in a prompt file, gathered with its places, so that all of it can be said at once."""

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
        """The line of the value at a path, or of what stands nearest above it."""
        return int(self.document.place_of(at).rpartition(":")[2])

    def find(self, at: DataPath, sentence: str) -> None:
        """Note a fault of the value at a path."""
        self.find_in(self.line_of(at), f"{json_path(at)} {sentence}")

    def find_in(self, line: int, sentence: str) -> None:
        """Note a fault in a line."""
        self.faults.append((line, f"{self.document.path}:{line}: {sentence}"))

    def note(self, line: int, sentence: str) -> None:
        """Note something that a reader should know."""
        self.notes.append(f"{self.document.path}:{line}: {sentence}")

    def text(self, at: DataPath, found: Any) -> str | None:
        """The value as a text; None where it is another thing, or nothing."""
        if found is None or isinstance(found, str):
            return found
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return json_preview(found)  # a version or a name that happens to be a number
        self.find(at, f"is {json_preview(found)}; it takes a text.")
        return None

    def mapping(self, at: DataPath, found: Any) -> Mapping[str, Any]:
        """The value as a mapping; empty where it is another thing, or nothing."""
        if isinstance(found, Mapping):
            return found
        if found is not None:
            self.find(at, f"is {json_preview(found)}; it takes a mapping.")
        return {}

    def list(self, at: DataPath, found: Any) -> list[Any]:
        """The value as a list; empty where it is another thing, or nothing."""
        if isinstance(found, list):
            return found
        if found is not None:
            self.find(at, f"is {json_preview(found)}; it takes a list.")
        return []

    def refuse(self) -> None:
        """Raise what has been found, in the order of the lines.

        Raises:
            ConfigError: there is something.
        """
        if self.faults:
            raise ConfigError.of([sentence for _, sentence in sorted(self.faults, key=lambda fault: fault[0])])
