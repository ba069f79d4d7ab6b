"""Whatever somebody else wrote: nothing raises, nothing is lost of what can be known, and the store can keep it."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import Output
from evalmark.core.values.plain_data import canonical
from evalmark.runs.transcripts.langchain import from_langchain
from evalmark.runs.transcripts.openai import from_openai
from evalmark.runs.transcripts.openai_agents import from_openai_agents
from evalmark.runs.transcripts.pydantic_ai import from_pydantic_ai

READERS = [from_openai, from_langchain, from_pydantic_ai, from_openai_agents]
WORDS = st.sampled_from(
    [
        *("assistant", "user", "tool", "system", "function", "developer", "human", "ai", "remove"),
        *("function_call", "function_call_output", "mcp_call", "web_search_call", "reasoning", "message", "text"),
        *("tool-call", "tool-return", "retry-prompt", "retry-feedback", "user-prompt", "thinking", "speech", "file"),
        *("failed", "error", "retried", "image_url", "{}", "[]", "{", "", " "),
    ]
)
KEYS = st.sampled_from(
    [
        *(
            "role",
            "type",
            "content",
            "text",
            "tool_calls",
            "invalid_tool_calls",
            "function",
            "name",
            "arguments",
            "args",
        ),
        *("id", "call_id", "tool_call_id", "output", "error", "status", "choices", "message", "messages", "usage"),
        *("input_tokens", "prompt_tokens", "prompt_tokens_details", "usage_metadata", "summary", "refusal", "parsed"),
        *("parts", "part_kind", "tool_name", "timestamp", "outcome", "instructions", "new_items", "raw_item", "input"),
        *("intermediate_steps", "structured_response", "raw_responses", "final_output", "loc", "msg", "kind"),
    ]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=4) | st.binary(max_size=3)
FOREIGN = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=5)
        | st.dictionaries(KEYS, inner, max_size=5).map(lambda fields: SimpleNamespace(**fields))
    ),
    max_leaves=24,
)


@pytest.mark.parametrize("reader", [pytest.param(reader, id=reader.__name__) for reader in READERS])
@given(thing=FOREIGN | st.lists(st.dictionaries(KEYS, FOREIGN, max_size=6), max_size=4))
def test_nothing_that_somebody_else_wrote_raises(reader, thing):
    output = reader(thing)
    assert isinstance(output, Output)
    canonical(output)  # what the store does


CALLS = st.lists(
    st.fixed_dictionaries(
        {"function": st.fixed_dictionaries({"name": st.sampled_from("fgh"), "arguments": LEAVES})},
        optional={"id": LEAVES, "type": LEAVES, "index": LEAVES},
    ),
    max_size=4,
)


@given(rounds=st.lists(st.tuples(CALLS, st.lists(FOREIGN, max_size=3)), max_size=4))
def test_no_call_is_lost_among_messages_that_make_no_sense(rounds):
    messages = []
    names = []
    for calls, noise in rounds:
        messages += [{"role": "assistant", "content": None, "tool_calls": calls}, *map(harmless, noise)]
        names += [call["function"]["name"] for call in calls]
    found = [call.name for call in from_openai(messages).tool_calls]
    assert [name for name in found if name in ("f", "g", "h")] == names


def harmless(noise):
    """Noise that makes no calls of these names itself."""
    return {"role": "tool", "content": noise, "tool_call_id": noise}


class Odd:
    """An object that has no truth and no hash, as arrays have none, and so has whatever it holds."""

    __hash__ = None

    def __getattr__(self, name):
        return Odd() if not name.startswith("__") else super().__getattribute__(name)

    def __eq__(self, other):
        return Odd()

    def __bool__(self):
        raise ValueError("ambiguous")


class Broken:
    """An object whose every attribute fails."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __str__(self):
        raise RuntimeError("no text either")

    __repr__ = __str__


@pytest.mark.parametrize("reader", [pytest.param(reader, id=reader.__name__) for reader in READERS])
def test_objects_that_fail_at_everything_are_left_out(reader):
    assert reader([Broken(), Broken()]).tool_calls == ()


@pytest.mark.parametrize("reader", [pytest.param(reader, id=reader.__name__) for reader in READERS])
@pytest.mark.parametrize("place", ["role", "type", "content", "part_kind", "outcome", "status", "tool_calls", "id"])
def test_objects_without_truth_or_hash_are_no_harm_anywhere(reader, place):
    shapes = ({"role": "assistant"}, {"type": "function_call_output"}, {"part_kind": "tool-return"}, {"type": "tool"})
    for shape in shapes:
        messages = [shape | {place: Odd()}, shape | {place: [Odd()]}]
        assert isinstance(reader(messages), Output)
        assert isinstance(reader({"messages": messages, "new_items": messages, "input": messages}), Output)
        assert isinstance(reader({"parts": messages, "output": messages, "choices": [{"message": messages}]}), Output)


def test_a_result_that_cannot_be_written_down_becomes_the_name_of_its_type():
    messages = [
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "1", "content": Broken()},
    ]
    assert from_openai(messages).tool_calls[0].result == "<Broken>"
