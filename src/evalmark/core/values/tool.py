"""A recorded tool call, which later runs can replay."""

from dataclasses import dataclass
from typing import Any

from .plain_data import fingerprint

KEY_VERSION = "tool-1"
"""Part of every key. Change it when the way keys are made changes; old recordings are then no longer found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRecording:
    """The arguments and the result of a tool call, as plain data."""

    key: str
    tool: str
    """The name under which the tool's calls are recorded."""
    version: str = ""
    """The user's version of the tool; each version has its own recordings."""
    arguments: Any
    """By name, defaults included; without arguments that must not be recorded."""
    input: Any
    """The input of the case for which the tool was called."""
    result: Any
    created: str = ""
    """ISO 8601 in UTC."""
    altered: bool = False
    """Whether `key` cannot be recomputed: the user gave a key function, or data was removed after the key was made."""

    @property
    def computed_key(self) -> str:
        """The key computed from the stored data; differs from `key` if the recording was altered."""
        return tool_key(self.tool, self.version, self.arguments, self.input)


def tool_key(tool: str, version: str, arguments: Any, given: Any) -> str:
    """Make the call log key of a tool call from the tool, its version, its arguments and the input of the case.

    >>> tool_key("search", "1", {"query": "tea"}, "Which tea?") == tool_key("search", "2", {"query": "tea"}, "Which tea?")
    False
    """
    return f"tool-{fingerprint(KEY_VERSION, tool, version, arguments, given)}"
