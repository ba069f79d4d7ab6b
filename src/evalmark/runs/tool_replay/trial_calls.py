"""A call of a tool within a trial: found, made or refused, and what goes wrong is noted for whoever runs the trial."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from evalmark.core.context.tool_replay import TrialTools
from evalmark.core.errors import DamagedRecordingError, EvalmarkError, NotRecordedError, RunStoppedError, StoreError
from evalmark.core.values.tool import ToolRecording

from . import call
from .call import Tool, ToolRequest, describe_request, make_recording


def request_in_trial(tool: Tool, args: tuple[Any, ...], kwargs: Mapping[str, Any], tools: TrialTools) -> ToolRequest:
    """What is asked. Raises what `call.asked_of` raises.

    Raises:
        ToolError: another function goes by the tool's name.
    """
    with _noting_faults(tools):
        tools.replay.claim(tool.name, tool.version, tool.home)
        return call.tool_request(tool, args, kwargs, tools.input)


def find_recording(tools: TrialTools, asked: ToolRequest) -> ToolRecording | None:
    """The recording to use; None when the tool is to be called.

    Raises:
        NotRecordedError: strict replay finds none, or one that is damaged.
        RunStoppedError: the journal cannot be read.
    """
    with _noting_faults(tools):
        try:
            found = tools.replay.find(asked.key)
        except DamagedRecordingError as damage:
            raise NotRecordedError(f"{asked.tool.name}: {damage} {_HOW_TO_RECORD}") from damage
        if found is None and tools.replay.mode == "strict":
            raise NotRecordedError(_missing(asked))
    if found is not None:
        tools.used.append(found.key)
    return found


def keep_recording(tools: TrialTools, asked: ToolRequest, result: Any) -> ToolRecording:
    """The call as it is recorded from now on, durable.

    Raises:
        ToolError: it cannot be recorded as it is.
        RunStoppedError: the journal cannot be written.
    """
    with _noting_faults(tools):
        kept = tools.replay.keep(make_recording(asked, result))
    tools.used.append(kept.key)
    return kept


@contextmanager
def counting_failures(tools: TrialTools) -> Iterator[None]:
    """The tool is called: one that raises is counted, and its error is the agent's to handle."""
    try:
        yield
    except Exception:
        tools.replay.failed()
        raise


@contextmanager
def _noting_faults(tools: TrialTools) -> Iterator[None]:
    """What evalmark itself refuses is noted, since an agent may take it for something that the tool has said."""
    try:
        yield
    except EvalmarkError as error:
        fault = error
        if isinstance(error, StoreError):
            fault = RunStoppedError(f"No further tool is called, since the journal cannot be used: {error}")
        tools.note(fault)
        if fault is error:
            raise
        raise fault from error


_HOW_TO_RECORD = "Run once with --replay auto, and commit what `evalmark cache export` writes."


def _missing(asked: ToolRequest) -> str:
    return (
        f"{asked.tool.name}: not recorded for {describe_request(asked)}. The journal has nothing under the key {asked.key}, and strict "
        f"replay calls no tool. {_HOW_TO_RECORD}"
    )
