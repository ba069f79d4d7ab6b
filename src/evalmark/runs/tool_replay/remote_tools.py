"""Tool recordings that another process stores: the worker's side in a cluster run and in isolated worker processes."""

from collections.abc import Callable
from typing import Any, cast

from evalmark.core.context.tool_replay import ToolMode, ToolReplay
from evalmark.core.protocols import ToolLog
from evalmark.core.values.tool import ToolRecording


class RemoteTools(ToolReplay):
    """Tool recordings that the process of the run stores and counts; `request` calls a service of it and waits."""

    def __init__(self, request: Callable[..., Any], mode: ToolMode) -> None:
        super().__init__(_no_tool_log, mode)
        self._request = request

    def claim(self, tool: str, version: str, home: str) -> None:
        """Register the function of a tool name. Raises ToolError if another function has it."""
        self._request("claim", tool, version, home)

    def find(self, key: str) -> ToolRecording | None:
        """Find a recording. Raises the error of the process of the run."""
        return cast(ToolRecording | None, self._request("find", key))

    def keep(self, recording: ToolRecording) -> ToolRecording:
        """Store a recording. Raises the error of the process of the run."""
        return cast(ToolRecording, self._request("keep", recording))

    def failed(self) -> None:
        """Count a tool call that raised an error."""
        self._request("failed")


def _no_tool_log() -> ToolLog:
    raise LookupError("the process of the run stores the tool recordings")
