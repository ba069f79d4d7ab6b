"""Timelines of agents and recorded sessions: messages, model calls and tool calls as steps, with tokens, cost and time."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from evalmark.core.money import money
from evalmark.core.text import count, display_text, one_line, unwrap_single_input
from evalmark.core.values.call import Call
from evalmark.core.values.case import Output, ToolCall, Turn, Usage
from evalmark.core.values.session import Span

_PREVIEW = 140
"""Characters of a folded step that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineStep:
    """A message, or an operation that is folded on the page."""

    id: str
    """Of the element on the page."""
    kind: str
    """`message`, or the kind of an operation: `model`, `tool`, `retrieval`, `step` or `error`."""
    name: str
    """The role of a message, or what was called."""
    parts: tuple[tuple[str, Any], ...]
    """What the step shows in full, each with a heading."""
    preview: str = ""
    """One line of a folded step."""
    error: str | None = None
    model: str = ""
    usage: Usage | None = None
    """None if unknown."""
    cost: float | None = None
    """US dollars; None if unknown."""
    seconds: float | None = None
    call: int | None = None
    """The number of the recorded model call on the page; None without one."""
    depth: int = 0
    time_share: tuple[float, float] | None = None
    """Start and end within the time of the whole, from 0 to 1; without starts, 0 and its share of the time of the longest step.
    None if unknown."""

    @property
    def tokens(self) -> int | None:
        """Input and output tokens together, as far as they are known."""
        usage = self.usage
        known = [] if usage is None else [n for n in (usage.input_tokens, usage.output_tokens) if n is not None]
        return sum(known) if known else None


def timeline_title(steps: Sequence[TimelineStep]) -> str:
    """Count the steps and those that failed; add up tokens and cost if those of all model calls are known.

    >>> call = TimelineStep(id="step-1", kind="tool", name="refund", parts=(), error="no such order")
    >>> timeline_title([call, replace(call, kind="message", name="user", error=None)])
    '1 tool call, 1 message, 1 failed step'
    """
    nouns = {"message": "message", "model": "model call", "tool": "tool call", "retrieval": "retrieval", "step": "step"}
    kinds = [step.kind for step in steps]
    parts = [count(kinds.count(kind), nouns[kind]) for kind in dict.fromkeys(kinds) if kind in nouns]
    failed = sum(step.error is not None for step in steps)
    calls = [step for step in steps if step.call is not None]
    tokens, costs = [step.tokens for step in calls], [step.cost for step in calls]
    spent = [count(sum(filter(None, tokens)), "token")] if calls and None not in tokens else []
    spent += [money(sum(filter(None, costs)))] if calls and None not in costs else []
    return " · ".join([", ".join([*parts, *([count(failed, "failed step")] if failed else [])]), *spent])


def result_timeline(
    output: Output, case_input: Any, calls: Iterable[tuple[int, Call]] = (), most: int = 500
) -> tuple[list[TimelineStep], int]:
    """List what a target did for a case, in order.

    Args:
        output: with a transcript, or with tool calls.
        case_input: the input of the case.
        calls: the recorded model calls of the target in order, with their numbers on the page.
        most: the most steps to return.

    Returns:
        The first steps, and how many there are; none if there is nothing beside the input and the output.
    """
    events, waiting = _events(output, case_input), list(calls)
    if not events and len(waiting) < 2:
        return [], 0
    steps: list[TimelineStep] = []
    last: tuple[int, Call] | None = None
    for event in events[:most]:
        at = next((at for at, (_, call) in enumerate(waiting) if _mentions(call, event)), None)
        if at is None or (at and last is not None and _mentions(last[1], event)):
            steps.append(_of_event(event))
            continue
        steps += [_of_call(number, call) for number, call in waiting[:at]]
        last, waiting = waiting[at], waiting[at + 1 :]
        steps += _with_call(event, *last)
    steps += [_of_call(number, call) for number, call in waiting]
    if output.error is not None and not any(step.error is not None for step in steps):
        steps.append(TimelineStep(id="", kind="error", name="target", parts=(), error=output.error))
    total = len(steps) + max(0, len(events) - most)
    return _with_bars([replace(step, id=f"step-{number}") for number, step in enumerate(steps[:most], start=1)]), total


def _with_bars(steps: list[TimelineStep]) -> list[TimelineStep]:
    """Set the share of each step of the time of the longest one, if there are several times to compare."""
    times = [step.seconds for step in steps if step.seconds is not None]
    longest = max(times, default=0)
    if len(times) < 2 or not longest > 0:
        return steps
    return [
        step if step.seconds is None else replace(step, time_share=(0, max(0, step.seconds / longest)))
        for step in steps
    ]


def _events(output: Output, case_input: Any) -> Sequence[Turn | ToolCall]:
    """Return the events, unless they only repeat the input and the output."""
    events = output.transcript or output.tool_calls
    if any(not isinstance(event, Turn) for event in events):
        return events
    known = {display_text(unwrap_single_input(case_input)), display_text(case_input), display_text(output.value)}
    return () if all(display_text(event.content) in known for event in events if isinstance(event, Turn)) else events


def _mentions(call: Call, event: Turn | ToolCall) -> bool:
    """Return whether the reply of a model call contains a message of the assistant, or calls the tool."""
    if call.reply is None:
        return False
    reply = call.reply
    if isinstance(event, ToolCall):
        return any(tool.name == event.name for tool in reply.tool_calls) or f'"{event.name}"' in reply.text
    text = display_text(event.content).strip()
    # A reply that is JSON contains the message as a JSON string.
    return event.role == "assistant" and bool(text) and (text in reply.text or json.dumps(text)[1:-1] in reply.text)


def _with_call(event: Turn | ToolCall, number: int, call: Call) -> Iterator[TimelineStep]:
    """Yield a message with the figures of its model call, or a model call and then the tool call that it made."""
    model = _of_call(number, call)
    step = _of_event(event)
    if step.kind != "message":
        yield model
        yield step
        return
    yield replace(step, model=model.model, usage=model.usage, cost=model.cost, seconds=model.seconds, call=model.call)


def _of_call(number: int, call: Call) -> TimelineStep:
    reply = call.reply
    made = [{"name": tool.name, "arguments": tool.arguments} for tool in reply.tool_calls] if reply else []
    shown: list[tuple[str, Any]] = [("reply", reply.text)] if reply and (reply.text or not made) else []
    names = ", ".join(str(tool["name"]) for tool in made)
    return TimelineStep(
        id="",
        kind="model",
        name=one_line(call.model, 80),
        model=one_line(reply.model, 80) if reply and reply.model != call.model else "",
        parts=(*shown, *((("calls", made),) if made else ())),
        preview=f"calls {names}" if names else _preview(reply.text if reply else ""),
        error=None if reply else call.error or "no reply",
        usage=reply.usage if reply else None,
        cost=reply.cost if reply else None,
        seconds=reply.seconds if reply else None,
        call=number,
    )


def _of_event(event: Turn | ToolCall) -> TimelineStep:
    if isinstance(event, Turn):
        role = one_line(event.role, 20)
        return TimelineStep(
            id="", kind="message", name=role, parts=(("", event.content),), preview=_preview(event.content)
        )
    result = (("result", event.result),) if event.error is None or event.result is not None else ()
    return TimelineStep(
        id="",
        kind="tool",
        name=one_line(event.name, 80),
        parts=(("arguments", dict(event.arguments)), *result),
        preview=tool_preview(event.arguments, event.result),
        error=event.error,
        seconds=event.seconds,
    )


def tool_preview(arguments: Any, result: Any = None) -> str:
    """Write arguments on one line, and the result, if it is known.

    >>> tool_preview({"order": 7, "city": "Oslo"}), tool_preview({}), tool_preview("Oslo", {"sent": True})
    ('order: 7, city: Oslo', '', 'Oslo → sent: true')
    """
    given = "" if arguments is None else _fields(arguments)
    return given if result is None else one_line(f"{one_line(given, _PREVIEW // 2)} → {_fields(result)}", _PREVIEW)


def _fields(value: Any) -> str:
    """Write a value on one line, the fields of a mapping and a list of texts without their brackets."""
    if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value):
        return one_line("; ".join(map(_preview, value[:20])), _PREVIEW)
    if not isinstance(value, Mapping):
        return _preview(value)
    return one_line(", ".join(f"{name}: {_preview(each)}" for name, each in islice(value.items(), 20)), _PREVIEW)


def _preview(value: Any) -> str:
    return one_line(display_text(value)[: 8 * _PREVIEW], _PREVIEW)


def span_step(span: Span, depth: int = 0, time_share: tuple[float, float] | None = None) -> TimelineStep:
    """Return a step of a recorded session.

    Args:
        span: the recorded step.
        depth: its level below the steps of an answer.
        time_share: its start and end within the time of the answer, from 0 to 1.
    """
    heads = ("arguments", "result") if span.kind == "tool" else ("input", "output")
    shown = zip(heads, (span.input, span.output), strict=True)
    return TimelineStep(
        id=f"span-{span.id}",
        kind="step" if span.kind == "run" else span.kind,
        name=one_line(span.name, 80),
        parts=tuple((head, value) for head, value in shown if value is not None),
        preview=tool_preview(span.input, span.output)
        if span.kind == "tool"
        else _fields(span.output if span.output is not None else ""),
        error=span.error,
        model=one_line(span.model, 80),
        usage=span.usage,
        cost=span.cost,
        seconds=span.seconds,
        depth=depth,
        time_share=time_share,
    )


def answer_timeline(answer: Span, steps: Sequence[TimelineStep]) -> list[TimelineStep]:
    """Return the timeline of a recorded answer: its input, its steps, and its output or error."""
    given, value = unwrap_single_input(answer.input), answer.output
    question = TimelineStep(id=f"input-{answer.id}", kind="message", name="user", parts=(("", given),))
    shown = (("", value),) if value is not None or answer.error is None else ()
    output = TimelineStep(
        id=f"output-{answer.id}",
        kind="message",
        name="assistant",
        parts=shown,
        error=answer.error,
        model=one_line(answer.model, 80),
    )
    return [question, *steps, output]
