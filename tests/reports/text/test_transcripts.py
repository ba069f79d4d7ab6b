"""What reports say of a transcript."""

from dataclasses import replace

import pytest

from evalmark import Case, Output, Result, ToolCall, Turn
from evalmark.core.values.case import Usage
from evalmark.core.values.score import Trial
from evalmark.reports.text.transcripts import steps, steps_title, tokens_used

ASKED, ANSWERED = Turn(role="user", content={"q": 1}), Turn(role="assistant", content="a")


def told(output, **options):
    result = Result(trial=Trial(case=Case(id="1", input={"q": 1})), output=replace(output, value="a"))
    return [(step.speaker, step.text, step.kind) for step in steps(result.output, result.trial.case.input, **options)]


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        pytest.param(Output(), [], id="nothing"),
        pytest.param(Output(transcript=(ASKED, ANSWERED)), [], id="no more than question and answer"),
        pytest.param(
            Output(transcript=(ASKED, Turn(role="assistant", content="Hm."), ANSWERED)),
            [("user", '{"q": 1}', "turn"), ("assistant", "Hm.", "turn"), ("assistant", "a", "turn")],
            id="a word between",
        ),
        pytest.param(
            Output(tool_calls=(ToolCall(name="f", arguments={"x": 1}, result=[2], seconds=0.5),)),
            [("calls", 'f {"x": 1} (500 ms)', "call"), ("result", "[2]", "result")],
            id="calls without a transcript",
        ),
        pytest.param(
            Output(tool_calls=(ToolCall(name="f"),)),
            [("calls", "f", "call"), ("result", "no result", "result")],
            id="no result",
        ),
        pytest.param(
            Output(tool_calls=(ToolCall(name="f", error="no"),)),
            [("calls", "f", "call"), ("failed", "no", "error")],
            id="it failed",
        ),
        pytest.param(
            Output(tool_calls=(ToolCall(name="f", error="no", result="half"),)),
            [("calls", "f", "call"), ("failed", "no", "error"), ("result", "half", "result")],
            id="it failed and gave something",
        ),
        pytest.param(
            Output(transcript=(Turn(role="\x1b[31mcritic\n" + "x" * 40, content="\x1b[2Jno"),)),
            [("critic xxxxxxxxxxxx…", "no", "turn")],
            id="words of others are cleaned",
        ),
    ],
)
def test_a_transcript_is_told_step_by_step(output, lines):
    assert told(output) == lines


def test_times_can_be_left_out():
    output = Output(tool_calls=(ToolCall(name="f", result=1, seconds=0.5),))
    assert told(output, times=False)[0] == ("calls", "f", "call")


def test_a_title_counts_calls_failures_and_messages():
    calls = (ToolCall(name="f"), ToolCall(name="g", error="no"))
    result = Result(trial=Trial(case=Case(id="1")), output=Output(transcript=(ASKED, *calls, ANSWERED)))
    assert steps_title(result.output) == "2 tool calls, 1 of them failed · 2 messages"


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        (Usage(), "tokens unknown"),
        (Usage(input_tokens=1200), "1,200 tokens in, ? tokens out"),
        (Usage(input_tokens=3, output_tokens=0, cached_tokens=0), "3 tokens in, 0 tokens out"),
        (
            Usage(input_tokens=3, output_tokens=2, cached_tokens=1, cache_write_tokens=1),
            "3 tokens in, 2 tokens out (1 read from the provider's cache, 1 written to it)",
        ),
    ],
)
def test_tokens_that_nobody_told_are_unknown(usage, said):
    assert tokens_used(usage) == said
