"""Transcripts of agents: messages and tool calls, step by step, and token counts."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

from evalmark.core.text import count, display_text, one_line, unwrap_single_input
from evalmark.core.values.case import Output, ToolCall, Turn, Usage

from .numbers import duration


class TranscriptStep(NamedTuple):
    """A message, a tool call, or its result."""

    speaker: str
    """The role of the speaker; `calls`, `result` or `failed` for tools."""
    text: str
    kind: Literal["turn", "call", "result", "error"]


def steps(output: Output, case_input: Any, *, times: bool = True, most: int | None = None) -> list[TranscriptStep]:
    """List the steps of the transcript, or the tool calls; empty if there is only an output to the input `case_input`.

    `times` adds the duration of each call; `most` limits the steps, None for all.
    """
    return list(islice((step for event in _events(output, case_input) for step in _of_event(event, times)), most))


def step_count(output: Output, case_input: Any) -> int:
    """Count the steps without formatting them.

    >>> step_count(Output(tool_calls=(ToolCall(name="find"), ToolCall(name="refund", error="no such order"))), None)
    4
    """
    return sum(
        1 if isinstance(event, Turn) else 2 + (event.error is not None and event.result is not None)
        for event in _events(output, case_input)
    )


def steps_title(output: Output) -> str:
    """Count tool calls and messages.

    >>> steps_title(Output(tool_calls=(ToolCall(name="find"), ToolCall(name="refund", error="no such order"))))
    '2 tool calls, 1 of them failed'
    """
    calls, turns = output.tool_calls, [e for e in output.transcript if isinstance(e, Turn)]
    failed = sum(call.error is not None for call in calls)
    parts = [count(len(calls), "tool call") + (f", {failed:,} of them failed" if failed else "")]
    return " · ".join([*parts, count(len(turns), "message")] if turns else parts)


def failed_tool_calls(output: Output) -> str:
    """Say how many tool calls failed; empty if none did.

    >>> failed_tool_calls(Output(tool_calls=(ToolCall(name="find"), ToolCall(name="refund", error="no such order"))))
    '1 of 2 tool calls failed'
    """
    # Like the steps, the calls are those of the transcript where there is one.
    calls = [event for event in output.transcript or output.tool_calls if isinstance(event, ToolCall)]
    failed = sum(call.error is not None for call in calls)
    if not failed:
        return ""
    return "the only tool call failed" if len(calls) == 1 else f"{failed:,} of {len(calls):,} tool calls failed"


def tokens_used(usage: Usage) -> str:
    """Format input and output tokens, with cached and reasoning tokens.

    >>> tokens_used(Usage(input_tokens=1204, output_tokens=80, reasoning_tokens=64))
    '1,204 tokens in, 80 tokens out (64 of reasoning)'
    """
    if usage.input_tokens is None and usage.output_tokens is None:
        return "tokens unknown"
    known = {"in": usage.input_tokens, "out": usage.output_tokens}
    parts = [f"{'?' if n is None else f'{n:,}'} tokens {way}" for way, n in known.items()]
    within = {
        "read from the provider's cache": usage.cached_tokens,
        "written to it": usage.cache_write_tokens,
        "of reasoning": usage.reasoning_tokens,
    }
    more = ", ".join(f"{n:,} {what}" for what, n in within.items() if n)
    return ", ".join(parts) + (f" ({more})" if more else "")


def _events(output: Output, case_input: Any) -> Sequence[Turn | ToolCall]:
    """Events beyond the input and the output."""
    events = output.transcript or output.tool_calls
    if not events or any(not isinstance(event, Turn) for event in events):
        return events
    known = {display_text(unwrap_single_input(case_input)), display_text(case_input), display_text(output.value)}
    return () if all(display_text(event.content) in known for event in events if isinstance(event, Turn)) else events


def _of_event(event: Turn | ToolCall, times: bool) -> Iterator[TranscriptStep]:
    if isinstance(event, Turn):
        yield TranscriptStep(one_line(event.role, 20), display_text(event.content), "turn")
        return
    arguments = f" {display_text(dict(event.arguments))}" if event.arguments else ""
    took = f" ({duration(event.seconds)})" if times and event.seconds is not None else ""
    yield TranscriptStep("calls", f"{one_line(event.name)}{arguments}{took}", "call")
    if event.error is not None:
        yield TranscriptStep("failed", display_text(event.error), "error")
    if event.error is None or event.result is not None:
        yield TranscriptStep("result", _result_text(event.result), "result")


def _result_text(result: Any) -> str:
    return "no result" if result is None else display_text(result)
