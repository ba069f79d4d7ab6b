"""What the store keeps of the transcript of an agent."""

import asyncio
from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, ToolCall, Turn
from evalmark.core.values.case import Usage
from evalmark.storage.results.stored_results import encode_result
from tests.storage.store import sample

EVERYWHERE = True

FOUND = ToolCall(
    name="find",
    arguments={"order": 7, "deep": [{"a": None}]},
    result={"sent": ["Monday"]},
    id="call-1",
    started="2026-11-21T14:32:05+00:00",
    seconds=0.25,
)
FAILED = ToolCall(name="refund", arguments={"unparsed": '{"order": '}, error="no such order", id="call-2")
OPEN = ToolCall(name="wait")
TRANSCRIPT = (
    Turn(role="user", content="Where is order 7?"),
    Turn(role="assistant", content="Let me look."),
    FOUND,
    FAILED,
    Turn(role="tool", content={"stray": True}),
    OPEN,
    Turn(role="assistant", content="It was sent on Monday."),
)
USAGE = Usage(input_tokens=40, output_tokens=6, cached_tokens=0, reasoning_tokens=2)


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(Output(value="a", transcript=TRANSCRIPT, usage=USAGE), id="a conversation"),
        pytest.param(Output(value="a", transcript=TRANSCRIPT[:2]), id="one without calls"),
        pytest.param(Output(value="a", tool_calls=(FOUND, OPEN)), id="calls alone"),
        pytest.param(
            Output(value="a", transcript=TRANSCRIPT, tool_calls=(FOUND,)),
            id="calls that are not those of the transcript",
        ),
        pytest.param(Output(error="down", transcript=TRANSCRIPT, usage=Usage()), id="an answer that broke off"),
    ],
)
def test_a_transcript_its_calls_and_its_tokens_come_back_equal(store, output):
    trial = replace(sample.trials([sample.case(1)])[0], case=Case(id="1", input="a", given=output))
    result = Result(trial=trial, output=output)
    store.start(sample.run())
    asyncio.run(store.sink(sample.run().id).write([result]))
    (back,) = store.run("last").results
    assert back.output == output
    assert back.output.tool_calls == output.tool_calls
    assert back.trial.case.given == output


def test_the_calls_of_a_transcript_are_written_once():
    (trial,) = sample.trials([sample.case(1)])
    with_calls = Output(value="a", transcript=TRANSCRIPT)
    written = "".join(str(field) for field in encode_result(Result(trial=trial, output=with_calls)).row)
    assert written.count("call-1") == written.count("no such order") == 1
    differing = replace(with_calls, tool_calls=(FOUND,))
    written = "".join(str(field) for field in encode_result(Result(trial=trial, output=differing)).row)
    assert written.count("call-1") == 2
    assert written.count("no such order") == 1
