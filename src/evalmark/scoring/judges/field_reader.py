"""Reads typed fields of a metric file and collects faults."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalmark.inputs.documents.document import DataPath

MAX_PREVIEW_CHARS = 60
"""Characters of a value that a message shows."""
MAX_REPEATS = 100
"""The largest number of times a judge may be asked about one output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldReader:
    """Reads values from mappings and collects what is wrong with them."""

    faults: list[tuple[DataPath, str]] = field(default_factory=list)

    def find(self, at: DataPath, sentence: str) -> None:
        """Record a fault of the value at a path."""
        self.faults.append((at, sentence))

    def text(self, at: DataPath, data: Mapping[str, Any], key: str, *, needed: bool = True) -> str | None:
        """Return a text that is not blank."""
        found = data.get(key)
        if isinstance(found, str) and found.strip():
            return found
        self._refuse(at, data, key, needed, "a text")
        return None

    def truth(self, at: DataPath, data: Mapping[str, Any], key: str) -> bool | None:
        """Return a truth value."""
        found = data.get(key)
        if isinstance(found, bool):
            return found
        self._refuse(at, data, key, True, "true or false")
        return None

    def mapping(
        self, at: DataPath, data: Mapping[str, Any], key: str, *, needed: bool = True
    ) -> Mapping[str, Any] | None:
        """Return a mapping that is not empty."""
        found = data.get(key)
        if isinstance(found, Mapping) and (found or not needed):
            return found
        self._refuse(at, data, key, needed, "a mapping")
        return None

    def whole(
        self,
        at: DataPath,
        data: Mapping[str, Any],
        key: str,
        *bounds: int,
        needed: bool = True,
    ) -> int | None:
        """Return a whole number, within bounds if given."""
        found = data.get(key)
        fine = isinstance(found, int) and not isinstance(found, bool)
        if fine and (not bounds or bounds[0] <= found <= bounds[1]):  # type: ignore[operator]
            return found
        wanted = "a whole number" + (f" from {bounds[0]} to {bounds[1]}" if bounds else "")
        self._refuse(at, data, key, needed, wanted)
        return None

    def share(self, at: DataPath, found: Any) -> float | None:
        """Return a number from 0 to 1, or None."""
        if found is None:
            return None
        if isinstance(found, (int, float)) and not isinstance(found, bool) and 0 <= found <= 1:
            return float(found)
        self.find(at, f"is {json_preview(found)}; it takes a number from 0 to 1.")
        return None

    def _refuse(self, at: DataPath, data: Mapping[str, Any], key: str, needed: bool, wanted: str) -> None:
        if data.get(key) is not None:
            self.find((*at, key), f"is {json_preview(data[key])}; it takes {wanted}.")
        elif needed:
            self.find((*at, key), f"is missing; it takes {wanted}.")


def json_preview(value: Any) -> str:
    """Return a value for a message: as JSON, on one line, shortened."""
    text = json.dumps(value, ensure_ascii=False)[: MAX_PREVIEW_CHARS + 1]
    safe = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
    return safe if len(text) <= MAX_PREVIEW_CHARS else f"{safe[:MAX_PREVIEW_CHARS]}…"
