"""What an agent said and did, step by step, and what it took."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

from evalmark.core.text import display_text, one_line, unwrap_single_input
from evalmark.core.values.case import ToolCall, Turn
from evalmark.core.values.score import Result
from evalmark.core.values.usage import Usage
from evalmark.core.values.words import count

from .numbers import duration


class TranscriptStep(NamedTuple):
    """One message, one call, or what came back of one."""

    who: str
    """The role of who speaks; `calls`, `result`, `failed` for tools."""
    said: str
    kind: Literal["turn", "call", "result", "error"]


def steps(result: Result, *, times: bool = True, most: int | None = None) -> list[TranscriptStep]:
    """The transcript, or the tool calls where there is no transcript; empty where it tells only question and answer.

    `times`: whether to say how long each call took; `most`: how many steps are enough, None for all of them.
    """
    return list(islice((step for event in _events(result) for step in _of_event(event, times)), most))


def step_count(result: Result) -> int:
    """How many steps there are, without any being put into words.

    >>> from evalmark import Case, Output
    >>> from evalmark.core.values.score import Trial
    >>> calls = (ToolCall(name="find"), ToolCall(name="refund", error="no such order"))
    >>> step_count(Result(trial=Trial(case=Case(id="1")), output=Output(tool_calls=calls)))
    4
    """
    return sum(
        1 if isinstance(event, Turn) else 2 + (event.error is not None and event.result is not None)
        for event in _events(result)
    )


def steps_title(result: Result) -> str:
    """How many calls and messages there are.

    >>> from evalmark import Case, Output
    >>> from evalmark.core.values.score import Trial
    >>> calls = (ToolCall(name="find"), ToolCall(name="refund", error="no such order"))
    >>> steps_title(Result(trial=Trial(case=Case(id="1")), output=Output(tool_calls=calls)))
    '2 tool calls, 1 of them failed'
    """
    calls, turns = result.output.tool_calls, [e for e in result.output.transcript if isinstance(e, Turn)]
    failed = sum(call.error is not None for call in calls)
    parts = [count(len(calls), "tool call") + (f", {failed:,} of them failed" if failed else "")]
    return " · ".join([*parts, count(len(turns), "message")] if turns else parts)


def tokens_used(usage: Usage) -> str:
    """Tokens in and out, and what of them came from a cache or went into reasoning.

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


def _events(result: Result) -> Sequence[Turn | ToolCall]:
    """What there is to tell beside question and answer."""
    output = result.output
    events = output.transcript or output.tool_calls
    if not events or any(not isinstance(event, Turn) for event in events):
        return events
    known = {
        display_text(unwrap_single_input(result.trial.case.input)),
        display_text(result.trial.case.input),
        display_text(output.value),
    }
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
        yield TranscriptStep("result", _came_back(event.result), "result")


def _came_back(result: Any) -> str:
    return "nothing came back" if result is None else display_text(result)
