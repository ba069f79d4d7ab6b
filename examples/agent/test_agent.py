"""What the agent at the desk is held to, in the three ways of writing an eval."""

import asyncio

import pytest
from agent import desk, slip

from evalmark import StructuredOutput, ToolCalls, check_factuality, describe_eval, expect

describe_eval(
    "at the desk",
    data=[
        {
            "id": "is there one",
            "input": "Do you have a drill?",
            "expected": "Yes, the library has two drills, and one of them is free.",
            "expected_tools": [{"name": "find", "arguments": {"thing": "drill"}}],
        },
        {
            "id": "when",
            "input": "When can I come on Saturday?",
            "expected": "On Saturday the library is open from 10:00 to 14:00.",
            "expected_tools": [{"name": "hours", "arguments": {"day": "Saturday"}}],
        },
        {
            "id": "reserve",
            "input": "Please put a tent aside for me on Friday.",
            "expected": "A tent is reserved for Friday, under the number t1-Fr.",
            "expected_tools": ["find", {"name": "reserve", "arguments": {"item": "t1", "day": "Friday"}}],
        },
        {
            "id": "small talk",
            "input": "Thank you, that was quick!",
            "expected": "You are welcome.",
            "expected_tools": [],
        },
    ],
    task=desk,
    scorers=[ToolCalls(allow_extras=False), check_factuality],
    threshold={"factuality": 0.6},
)

describe_eval(
    "slips",
    data=[
        {"input": "Could I have the waffle iron, for Friday?", "expected": {"thing": "waffle iron", "day": "Friday"}},
        {"input": "A tent on Saturday would be great", "expected": {"thing": "tent", "day": "Saturday"}},
    ],
    task=slip,
    scorers=[StructuredOutput(allow_extras=False)],
)


def test_mondays_are_known():
    expect("Are you open on Monday?").to_eval("No, the library is closed on Monday.", desk, check_factuality)


@pytest.mark.evalmark(suite="what is not there", repeat=2)
def test_nothing_is_reserved_that_is_not_free(evalmark_case):
    wish = "Reserve the waffle iron for Saturday."
    output = asyncio.run(desk(wish))
    evalmark_case.log(output, wish, expected="The waffle iron is not free.")
    evalmark_case.judge(check_factuality)
    assert "reserve" not in [call.name for call in output.tool_calls]
