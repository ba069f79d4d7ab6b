"""Calls that depend on nothing but a number."""

import json
from dataclasses import replace

from evalmark import Turn
from evalmark.core.values.call import Attempt, Call, Reply, Request
from evalmark.core.values.case import Usage
from evalmark.core.values.tool import ToolRecording, tool_key

MODEL = "test/model"
IDENTITY = "test/model@http://127.0.0.1"
COUNT = 20
"""Calls that a process makes which is killed on the way."""


def request(number: int) -> Request:
    return Request(
        messages=(Turn(role="system", content="Answer."), Turn(role="user", content=f"What is {number} squared?")),
        settings={"temperature": 0},
    )


def as_meant(asked: Request) -> Request:
    """The request as the journal keeps it: without settings that say nothing."""
    return replace(asked, settings=json.loads(asked.texts[2]))


def key(number: int, identity: str = IDENTITY) -> str:
    return request(number).key(identity)


def reply(number: int, **more) -> Reply:
    usage = Usage(input_tokens=10, output_tokens=number)
    return Reply(text=str(number * number), **{"usage": usage, "cost": 0.25, "model": "model-1", **more})


def call(number: int, **more) -> Call:
    """A call that went well, unless `more` has another reply or an error."""
    fields = {
        "model": MODEL,
        "identity": IDENTITY,
        "reply": reply(number),
        "created": f"2026-11-21T14:32:{number % 60:02}Z",
    }
    fields |= more
    return Call(key=key(number, fields["identity"]), request=request(number), **fields)


def failed(number: int, **more) -> Call:
    return call(number, reply=None, error="answered 500", **more)


def cut_off(number: int) -> Call:
    return call(number, reply=reply(number, status="truncated"))


def troubled(number: int) -> Call:
    """Two attempts failed before the reply came."""
    attempts = tuple(Attempt(seconds=0.5, error="answered 503", status=503, body="busy") for _ in range(2))
    made = call(number)
    return replace(made, reply=replace(made.reply, attempts=attempts))


def tool_call(number: int, **more) -> ToolRecording:
    """What a tool gave for a number, unless `more` says otherwise."""
    asked = {"number": number, "unit": "é\ud800"}
    fields = {
        "tool": "square",
        "version": "1",
        "arguments": asked,
        "input": f"What is {number} squared?",
        "result": {"square": [number * number, None]},
        "created": f"2026-11-21T14:32:{number % 60:02}.000000+00:00",
    }
    fields |= more
    key = tool_key(fields["tool"], fields["version"], fields["arguments"], fields["input"])
    return ToolRecording(**{"key": key, **fields})
