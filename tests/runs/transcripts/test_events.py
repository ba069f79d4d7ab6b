"""How calls and what came back of them are joined, in OpenAI's plain form."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalmark import ToolCall, Turn
from evalmark.runs.transcripts.openai import from_openai


def asks(*calls, text=None):
    """A message with calls: (name, id), the id None where there is none."""
    made = [{"type": "function", "function": {"name": name, "arguments": "{}"}, "id": id_} for name, id_ in calls]
    return {"role": "assistant", "content": text, "tool_calls": made}


def gives(content, id_=None, name=None):
    return {"role": "tool", "content": content, "tool_call_id": id_, "name": name}


def call(name, id_="", result=None):
    return ToolCall(name=name, id=id_, result=result)


@pytest.mark.parametrize(
    ("messages", "transcript"),
    [
        pytest.param(
            [asks(("f", "1"), ("g", "2")), gives("b", "2"), gives("a", "1")],
            [call("f", "1", "a"), call("g", "2", "b")],
            id="results find their calls by id",
        ),
        pytest.param([asks(("f", "1"))], [call("f", "1")], id="a call that nothing came back for"),
        pytest.param(
            [asks(("f", "1")), gives("a", "1"), gives("b", "1")], [call("f", "1", "a")], id="the first result counts"
        ),
        pytest.param(
            [asks(("f", None), ("g", None)), gives("a"), gives("b")],
            [call("f", result="a"), call("g", result="b")],
            id="calls without ids, by their order",
        ),
        pytest.param(
            [asks(("f", None), ("g", None)), gives("b", name="g"), gives("a", name="f")],
            [call("f", result="a"), call("g", result="b")],
            id="calls without ids, by their names",
        ),
        pytest.param(
            [asks(("f", None), ("f", "1")), gives("b", "1"), gives("a")],
            [call("f", result="a"), call("f", "1", "b")],
            id="one with an id and one without",
        ),
        pytest.param(
            [asks(("f", None)), gives("a", "7")], [call("f", result="a")], id="an id of the result alone goes by order"
        ),
        pytest.param(
            [asks(("f", "0")), gives("a", "0"), asks(("f", "0")), gives("b", "0")],
            [call("f", "0", "a"), call("f", "0", "b")],
            id="an id that is used again",
        ),
        pytest.param(
            [asks(("f", "1")), gives("a", "2")],
            [call("f", "1"), Turn(role="tool", content="a")],
            id="a result of no call stays as a message",
        ),
        pytest.param(
            [asks(("f", "1")), gives("b", name="g")],
            [call("f", "1"), Turn(role="tool", content="b")],
            id="a result of another tool stays as a message",
        ),
        pytest.param(
            [gives("a", "1"), asks(("f", "1"))],
            [Turn(role="tool", content="a"), call("f", "1")],
            id="a result before its call is none of it",
        ),
        pytest.param(
            [asks(("f", "1"), text="Wait."), gives("a", "1")],
            [Turn(role="assistant", content="Wait."), call("f", "1", "a")],
            id="what was said comes before what was called",
        ),
        pytest.param([asks(("f", 7)), gives("a", 7)], [call("f", "7", "a")], id="ids that are numbers"),
        pytest.param([asks(("", "1"))], [call("unnamed", "1")], id="a call without a name"),
        pytest.param(
            [{"type": "web_search_call", "results": ["a"]}, asks(("f", "1")), {"type": "web_search_call", "id": "w"}],
            [call("web_search", result=["a"]), call("f", "1"), call("web_search", "w")],
            id="a result that stands with its own call is not another's",
        ),
    ],
)
def test_results_are_joined_to_their_calls(messages, transcript):
    output = from_openai(messages)
    assert output.transcript == tuple(transcript)
    assert output.tool_calls == tuple(event for event in transcript if isinstance(event, ToolCall))


NAMES = st.sampled_from(["f", "g", "h"])
ROUNDS = st.lists(st.lists(st.tuples(NAMES, st.integers(0, 99)), min_size=1, max_size=4), max_size=4)


@given(rounds=ROUNDS, shuffled=st.randoms(use_true_random=False))
def test_whatever_the_order_of_the_results_each_call_gets_its_own(rounds, shuffled):
    messages, wanted = [], []
    for number, calls in enumerate(rounds):
        ids = [f"{number}-{place}" for place in range(len(calls))]
        messages.append(asks(*((name, id_) for (name, _), id_ in zip(calls, ids, strict=True))))
        replies = [gives(str(result), id_) for (_, result), id_ in zip(calls, ids, strict=True)]
        shuffled.shuffle(replies)
        messages += replies
        wanted += [call(name, id_, str(result)) for (name, result), id_ in zip(calls, ids, strict=True)]
    assert from_openai(messages).transcript == tuple(wanted)


@given(arguments=st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text(), max_size=4))
def test_arguments_are_what_their_json_says(arguments):
    made = {"function": {"name": "f", "arguments": json.dumps(arguments)}}
    (found,) = from_openai([{"role": "assistant", "tool_calls": [made]}]).tool_calls
    assert found.arguments == arguments


@given(text=st.text())
def test_arguments_that_are_no_object_are_not_lost(text):
    made = {"function": {"name": "f", "arguments": text}}
    (found,) = from_openai([{"role": "assistant", "tool_calls": [made]}]).tool_calls
    if not found.arguments:
        assert text.strip() in ("", "{}", "null")
    elif "unparsed" in found.arguments:
        assert found.arguments["unparsed"] == text
    else:
        assert json.loads(text) == found.arguments
