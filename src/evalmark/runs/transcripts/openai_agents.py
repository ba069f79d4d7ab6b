"""Results of the package `openai-agents`."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from evalmark.core.values.case import Output, Turn

from .contents import as_list, as_name, as_plain, first_field, get_field, one_line, tool_result
from .events import CallEvent, Event, ResultEvent, ValueEvent, build_output
from .openai import item_events
from .tokens import nonzero_usage, total_usage

_FAILED = "An error occurred while running the tool"
"""The start of the text that the package returns for a tool that raised; the only sign of the error."""


def from_openai_agents(result: Any) -> Output:
    """Convert the result of `Runner.run` to an output.

    The transcript begins with the user messages of this run, without earlier turns. A handoff is a call of its tool.
    Token counts of 0 are unknown, since the package writes 0 for missing counts. Never raises on foreign data.

    Args:
        result: The result of `Runner.run`.

    Returns:
        The output with its transcript, tool calls and token counts.

    Example:
        A task that runs an agent::

            async def answer(question):
                return from_openai_agents(await Runner.run(agent, question))
    """
    items = as_list(get_field(result, "new_items"))
    events = [*_instructions(items), *_own_input(get_field(result, "input"))]
    for item in items:
        events += _events(item)
    usage = total_usage(
        nonzero_usage(get_field(response, "usage")) for response in as_list(get_field(result, "raw_responses"))
    )
    if get_field(result, "is_complete") is False:
        error = (
            "the stream of the run was not read to its end; read all of `stream_events()` before returning the result"
        )
        return build_output(events, usage=usage, error=error)
    return build_output((*events, ValueEvent(as_plain(get_field(result, "final_output")))), usage=usage)


def _instructions(items: Any) -> Iterator[Turn]:
    agent = get_field(items[0], "agent") if items else None
    if isinstance(instructions := get_field(agent, "instructions"), str) and instructions.strip():
        yield Turn(role="system", content=instructions)


def _own_input(value: Any) -> Iterator[Event]:
    """Yield the messages at the end of the input that are not the agent's."""
    items = as_list(value)
    start = len(items)
    while start and (
        isinstance(items[start - 1], str)
        or as_name(get_field(items[start - 1], "role")) in ("user", "system", "developer")
    ):
        start -= 1
    for item in items[start:]:
        yield from item_events(item)


def _events(item: Any) -> Iterator[Event]:
    raw = get_field(item, "raw_item")
    if as_name(get_field(item, "type")) == "tool_call_output_item":
        id_, output = as_name(first_field(raw, "call_id", "id")), first_field(item, "output")
        output = get_field(raw, "output") if output is None else output
        is_error = isinstance(output, str) and output.startswith(_FAILED)
        yield ResultEvent(id=id_, **({"error": one_line(output)} if is_error else {"result": tool_result(output)}))
        return
    for event in item_events(raw):
        name = get_field(item, "tool_name")
        yield replace(event, name=name) if isinstance(event, CallEvent) and isinstance(name, str) and name else event
