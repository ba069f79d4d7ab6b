"""One call of a tool as it is recorded, so that later runs need not make it again."""

from dataclasses import dataclass
from typing import Any

from .plain_data import fingerprint

KEY_VERSION = "tool-1"
"""Part of every key; a new way to make keys gets a new one, and old recordings are simply not found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecording:
    """What a tool was asked, for which input, and what it gave; all of it plain data."""

    key: str
    tool: str
    """The name by which its recordings are found."""
    version: str = ""
    """As the user counts them; another version has recordings of its own."""
    arguments: Any
    """By name, defaults included; without what must not be kept."""
    input: Any
    """That of the case for which the tool was called."""
    result: Any
    created: str = ""
    """ISO 8601 in UTC."""
    altered: bool = False
    """Whether the key was made of more than stands here: of a key of the user's own, or of what was taken out since."""

    @property
    def computed_key(self) -> str:
        """The key that follows from what stands here; another than `key` where the recording was altered."""
        return tool_key(self.tool, self.version, self.arguments, self.input)


def tool_key(tool: str, version: str, arguments: Any, given: Any) -> str:
    """The key of a call in the journal: which tool, in which version, asked what, for the case with which input.

    >>> tool_key("search", "1", {"query": "tea"}, "Which tea?") == tool_key("search", "2", {"query": "tea"}, "Which tea?")
    False
    """
    return f"tool-{fingerprint(KEY_VERSION, tool, version, arguments, given)}"
