"""The steps of a timeline: what an agent did, and which model call belongs to which step."""

import pytest

from evalmark import Output, ToolCall, Turn
from evalmark.core.values.call import Call, Reply, Request
from evalmark.core.values.case import Usage
from evalmark.core.values.session import Span
from evalmark.reports.html.timeline import answer_timeline, result_timeline, span_step, timeline_title

ASKED, DONE = Turn(role="user", content="Refund order 7."), Turn(role="assistant", content="Done.")
FIND = ToolCall(name="find", arguments={"order": 7}, result={"state": "sent"}, seconds=0.2)
REFUND = ToolCall(name="refund", arguments={"order": 7}, error="TimeoutError: no reply")


def call(number, text="", *tools, error=None):
    """A recorded call whose cost tells which one it is."""
    reply = Reply(
        text=text, tool_calls=tools, usage=Usage(input_tokens=10, output_tokens=number), cost=float(number), seconds=0.5
    )
    request = Request(messages=(ASKED,))
    return number, Call(
        key=f"k{number}", model="m", identity="m", request=request, reply=None if error else reply, error=error
    )


def seen(output, *calls, given="Refund order 7."):
    steps, total = result_timeline(output, given, calls)
    assert total == len(steps)
    assert [step.id for step in steps] == [f"step-{number}" for number in range(1, total + 1)]
    return [(step.kind, step.name, step.call) for step in steps]


@pytest.mark.parametrize(
    ("calls", "steps"),
    [
        pytest.param([], "user find refund assistant", id="nothing is recorded"),
        pytest.param(
            [call(1, "", FIND), call(2, "", REFUND), call(3, "Done.")],
            "user m1 find m2 refund assistant3",
            id="each tool is called by a reply",
        ),
        pytest.param(
            [call(1, "", FIND, REFUND), call(2, "Done.")],
            "user m1 find refund assistant2",
            id="one reply calls two tools",
        ),
        pytest.param(
            [call(1, '{"tool": "find"}'), call(2, '{"tool": "refund"}'), call(3, '{"answer": "Done."}')],
            "user m1 find m2 refund assistant3",
            id="tool calls are written as JSON",
        ),
        pytest.param(
            [call(1, "a plan"), call(2, "Done.")], "user find refund m1 assistant2", id="a reply that no step contains"
        ),
        pytest.param(
            [call(1, "Done."), call(2, "more")], "user find refund assistant1 m2", id="a reply after the last step"
        ),
        pytest.param(
            [call(1, error="HTTP 500"), call(2, "", FIND)], "user m1 m2 find refund assistant", id="a failed call"
        ),
    ],
)
def test_model_calls_stand_before_the_step_that_their_reply_contains(calls, steps):
    found = seen(Output(value="Done.", transcript=(ASKED, FIND, REFUND, DONE)), *calls)
    assert " ".join(f"{name}{number or ''}" for _, name, number in found) == steps


@pytest.mark.parametrize(
    ("output", "calls", "kinds"),
    [
        pytest.param(Output(value="Done."), [], [], id="only an output"),
        pytest.param(Output(value="Done."), [call(1, "Done.")], [], id="one model call"),
        pytest.param(
            Output(value="Done."), [call(1, "a"), call(2, "Done.")], ["model", "model"], id="a chain of calls"
        ),
        pytest.param(Output(value="Done.", transcript=(ASKED, DONE)), [], [], id="a transcript that repeats the case"),
        pytest.param(Output(tool_calls=(FIND,)), [], ["tool"], id="tool calls without a transcript"),
        pytest.param(Output(error="KeyError: 7", tool_calls=(FIND,)), [], ["tool", "error"], id="the target raised"),
        pytest.param(Output(error="E", tool_calls=(REFUND,)), [], ["tool"], id="the failed step is known"),
    ],
)
def test_what_a_timeline_has(output, calls, kinds):
    assert [kind for kind, _, _ in seen(output, *calls)] == kinds


def test_a_step_has_the_tokens_the_cost_and_the_time_of_its_call():
    steps, _ = result_timeline(Output(transcript=(ASKED, FIND, DONE)), "?", [call(1, "", FIND), call(2, "Done.")])
    figures = [(step.tokens, step.cost, step.seconds) for step in steps]
    assert figures == [(None, None, None), (11, 1.0, 0.5), (None, None, 0.2), (12, 2.0, 0.5)]
    assert timeline_title(steps) == "2 messages, 1 model call, 1 tool call · 23 tokens · $3.00"
    assert [step.time_share for step in steps] == [None, (0, 1), (0, 0.4), (0, 1)]


@pytest.mark.parametrize(
    ("calls", "title"),
    [
        pytest.param([call(1, "a"), call(2, "b")], "2 model calls · 23 tokens · $3.00", id="all are known"),
        pytest.param([call(1, "a"), call(2, error="503")], "2 model calls, 1 failed step", id="those of one are not"),
    ],
)
def test_tokens_and_cost_are_added_up_if_all_are_known(calls, title):
    assert timeline_title(result_timeline(Output(value="Done."), "?", calls)[0]) == title


@pytest.mark.parametrize(
    ("seconds", "shares"),
    [
        pytest.param((1, 4, None), [(0, 0.25), (0, 1), None], id="of the longest step"),
        pytest.param((1, None, None), [None] * 3, id="one time has nothing to compare with"),
        pytest.param((0, 0, 0), [None] * 3, id="no time passed"),
    ],
)
def test_the_time_of_a_step_is_compared_with_the_longest(seconds, shares):
    made = Output(tool_calls=tuple(ToolCall(name="find", arguments={}, seconds=each) for each in seconds))
    assert [step.time_share for step in result_timeline(made, "?")[0]] == shares


@pytest.mark.parametrize(
    ("tool", "preview"),
    [
        pytest.param(FIND, "order: 7 → state: sent", id="arguments and result"),
        pytest.param(ToolCall(name="now", arguments={}, result=[12]), "→ [12]", id="a result alone"),
        pytest.param(
            ToolCall(name="now", arguments={}, result=["noon", "Oslo"]), "→ noon; Oslo", id="texts without brackets"
        ),
        pytest.param(REFUND, "order: 7", id="no result"),
    ],
)
def test_a_folded_tool_call_shows_arguments_and_result(tool, preview):
    assert [step.preview for step in result_timeline(Output(tool_calls=(tool,)), "?")[0]] == [preview]


def test_of_many_steps_the_first_are_shown_and_all_are_counted():
    steps, total = result_timeline(Output(tool_calls=(FIND,) * 900), "?", (), 500)
    assert (len(steps), total) == (500, 900)


def test_a_recorded_answer_begins_with_its_input_and_ends_with_its_output_or_error():
    common = {"session": "s", "project": "p", "started": "2026-11-21T10:15:00+00:00"}
    tool = Span(id="2", parent="1", kind="tool", name="find", input={"order": 7}, error="E: no", **common)
    answer = Span(id="1", input={"question": "Where?"}, error="RuntimeError: busy", **common)
    steps = answer_timeline(answer, [span_step(tool, 2, (0.1, 0.4))])
    assert [(step.kind, step.name, step.error) for step in steps] == [
        ("message", "user", None),
        ("tool", "find", "E: no"),
        ("message", "assistant", "RuntimeError: busy"),
    ]
    assert steps[0].parts == (("", "Where?"),)
    assert steps[1].parts == (("arguments", {"order": 7}),)
    assert (steps[1].depth, steps[1].preview, steps[2].parts) == (2, "order: 7", ())
