"""Tool calls within a trial: find, record or refuse them, and note errors of evalmark with the trial."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from evalmark.core.context.tool_replay import TrialTools
from evalmark.core.errors import DamagedRecordingError, EvalmarkError, NotRecordedError, RunStoppedError, StoreError
from evalmark.core.values.tool import ToolRecording

from . import call
from .call import Tool, ToolRequest, describe_request, make_recording


def request_in_trial(tool: Tool, args: tuple[Any, ...], kwargs: Mapping[str, Any], tools: TrialTools) -> ToolRequest:
    """Build the request of a tool call. Raises what `call.tool_request` raises.

    Raises:
        ToolError: another function has the tool's name.
    """
    with _noting_faults(tools):
        tools.replay.claim(tool.name, tool.version, tool.home)
        return call.tool_request(tool, args, kwargs, tools.input)


def find_recording(tools: TrialTools, request: ToolRequest) -> ToolRecording | None:
    """Find the recording of a call, or return None to call the tool.

    Raises:
        NotRecordedError: strict replay finds no recording, or a damaged one.
        RunStoppedError: the call log cannot be read.
    """
    with _noting_faults(tools):
        try:
            recording = tools.replay.find(request.key)
        except DamagedRecordingError as damage:
            raise NotRecordedError(f"{request.tool.name}: {damage} {_HOW_TO_RECORD}") from damage
        if recording is None and tools.replay.mode == "strict":
            raise NotRecordedError(_missing(request))
    if recording is not None:
        tools.used.append(recording.key)
    return recording


def keep_recording(tools: TrialTools, request: ToolRequest, result: Any) -> ToolRecording:
    """Store the recording of a call.

    Raises:
        ToolError: the call cannot be recorded.
        RunStoppedError: the call log cannot be written.
    """
    with _noting_faults(tools):
        recording = tools.replay.keep(make_recording(request, result))
    tools.used.append(recording.key)
    return recording


@contextmanager
def counting_failures(tools: TrialTools) -> Iterator[None]:
    """Count a tool call that raises; the agent handles the error."""
    try:
        yield
    except Exception:
        tools.replay.failed()
        raise


@contextmanager
def _noting_faults(tools: TrialTools) -> Iterator[None]:
    """Note errors of evalmark with the trial, since an agent may mistake them for errors of the tool."""
    try:
        yield
    except EvalmarkError as error:
        fault = error
        if isinstance(error, StoreError):
            fault = RunStoppedError(f"No further tool is called, since the call log cannot be used: {error}")
        tools.note(fault)
        if fault is error:
            raise
        raise fault from error


_HOW_TO_RECORD = "Run once with --replay auto, and commit what `evalmark cache export` writes."


def _missing(request: ToolRequest) -> str:
    return (
        f"{request.tool.name}: not recorded for {describe_request(request)}. The call log has nothing under the key {request.key}, and strict "
        f"replay calls no tool. {_HOW_TO_RECORD}"
    )
