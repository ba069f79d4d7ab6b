"""Runs of the agents of the package `openai-agents`."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from evalmark.core.values.case import Output, Turn

from .contents import first, kept, listed, one_line, part, result_of, word
from .joining import Answered, Asked, Event, Settled, output_of
from .openai import item_events
from .tokens import added, sure

_FAILED = "An error occurred while running the tool"
"""How that package begins what it tells the model of a tool that raised; it says so nowhere else."""


def from_openai_agents(result: Any) -> Output:
    """An output out of what `Runner.run` gives.

    The transcript begins with the messages of the user that started this run; what the run was handed of earlier turns
    is left out. A handoff is a call of the tool by which the model asked for it. What the package counts as 0 tokens is
    not known: it writes 0 for what nobody told it. Foreign data never raises.
    """
    items = listed(part(result, "new_items"))
    events = [*_instructions(items), *_asked(part(result, "input"))]
    for item in items:
        events += _events(item)
    usage = added(sure(part(response, "usage")) for response in listed(part(result, "raw_responses")))
    if part(result, "is_complete") is False:
        error = "the stream of the run was not read to its end; await what `stream_events()` gives before returning it"
        return output_of(events, usage=usage, error=error)
    return output_of((*events, Settled(kept(part(result, "final_output")))), usage=usage)


def _instructions(items: Any) -> Iterator[Turn]:
    agent = part(items[0], "agent") if items else None
    if isinstance(told := part(agent, "instructions"), str) and told.strip():
        yield Turn(role="system", content=told)


def _asked(given: Any) -> Iterator[Event]:
    """The messages at the end of the input that are not the agent's own."""
    held = listed(given)
    ours = len(held)
    while ours and (
        isinstance(held[ours - 1], str) or word(part(held[ours - 1], "role")) in ("user", "system", "developer")
    ):
        ours -= 1
    for item in held[ours:]:
        yield from item_events(item)


def _events(item: Any) -> Iterator[Event]:
    raw = part(item, "raw_item")
    if word(part(item, "type")) == "tool_call_output_item":
        id_, output = word(first(raw, "call_id", "id")), first(item, "output")
        output = part(raw, "output") if output is None else output
        is_error = isinstance(output, str) and output.startswith(_FAILED)
        yield Answered(id=id_, **({"error": one_line(output)} if is_error else {"result": result_of(output)}))
        return
    for event in item_events(raw):
        name = part(item, "tool_name")
        yield replace(event, name=name) if isinstance(event, Asked) and isinstance(name, str) and name else event
