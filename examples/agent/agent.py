"""An agent at the desk of a library of things: it looks up what there is, when it is open, and reserves."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from evalmark import Output, ToolCall, Turn, chat_model
from evalmark.core.values.call import Request
from evalmark.tools import replayed

THINGS = [
    {"item": "d1", "thing": "drill", "free": True},
    {"item": "d2", "thing": "drill", "free": False},
    {"item": "t1", "thing": "tent", "free": True},
    {"item": "w1", "thing": "waffle iron", "free": False},
]
HOURS = {"Monday": "closed", "Friday": "10:00 to 18:00", "Saturday": "10:00 to 14:00"}


# The tools. In earnest they would ask a service; a run of evals asks it once for each question, and in CI never.


@replayed(version="1")
async def find(thing: str) -> list[dict[str, Any]]:
    """What the library has of a kind."""
    return [row for row in THINGS if row["thing"] == thing]


@replayed(version="1")
async def hours(day: str) -> str:
    """When the library is open on a day of the week."""
    return HOURS.get(day, "9:00 to 18:00")


@replayed(version="1")
async def reserve(item: str, day: str) -> dict[str, Any]:
    """Put a thing aside for a day; says why where that cannot be."""
    free = any(row["item"] == item and row["free"] for row in THINGS)
    if not free or HOURS.get(day) == "closed":
        return {"done": False, "why": "closed" if free else "not free"}
    return {"done": True, "number": f"{item}-{day[:2]}"}


TOOLS: Mapping[str, tuple[Callable[..., Awaitable[Any]], tuple[str, ...]]] = {
    "find": (find, ("thing",)),
    "hours": (hours, ("day",)),
    "reserve": (reserve, ("item", "day")),
}
"""Each tool, and which fields of a step are its arguments."""
RULES = """You are at the desk of a library of things. Take one step at a time: call a tool, or answer.
find(thing) says what there is of a kind, hours(day) when the library is open, reserve(item, day) puts a thing aside.
Reserve only what the visitor asks you to. Answer in one or two sentences, from what the tools gave alone."""
_FIELDS = {name: {"type": "string"} for name in ("thing", "item", "day", "answer")}
STEP = {
    "type": "object",
    "properties": {"action": {"type": "string", "enum": [*TOOLS, "answer"]}, **_FIELDS},
    "required": ["action", *_FIELDS],
    "additionalProperties": False,
}
"""A step as the model gives it; fields that it does not need are empty."""
SLIP = {
    "type": "object",
    "properties": {"thing": {"type": "string"}, "day": {"type": "string"}},
    "required": ["thing", "day"],
    "additionalProperties": False,
}
MOST_STEPS = 6


async def desk(question: str) -> Output:
    """The answer to a visitor, and the way to it."""
    way: list[Turn | ToolCall] = [Turn(role="user", content=question)]
    said = [Turn(role="system", content=RULES), Turn(role="user", content=question)]
    async with chat_model("desk") as model:
        for _ in range(MOST_STEPS):
            step = (await model(Request(messages=tuple(said), schema=STEP))).data
            if step is None:
                return Output(error="the model gave no step that can be read", transcript=tuple(way))
            said.append(Turn(role="assistant", content=json.dumps(step)))
            if step["action"] == "answer":
                way.append(Turn(role="assistant", content=step["answer"]))
                return Output(value=step["answer"], transcript=tuple(way))
            call = await called(step)
            way.append(call)
            said.append(Turn(role="user", content=f"{call.name} gave: {json.dumps(call.result)}"))
    return Output(error=f"no answer within {MOST_STEPS} steps", transcript=tuple(way))


async def called(step: Mapping[str, str]) -> ToolCall:
    """The call of a tool that a step asks for."""
    tool, names = TOOLS[step["action"]]
    arguments = {name: step[name] for name in names}
    return ToolCall(name=step["action"], arguments=arguments, result=await tool(**arguments))


async def slip(wish: str) -> Any:
    """What a visitor wants to reserve, as data for a form."""
    asked = (Turn(role="system", content="Which thing is wanted, for which day of the week?"),)
    async with chat_model("desk") as model:
        return (await model(Request(messages=(*asked, Turn(role="user", content=wish)), schema=SLIP))).data
