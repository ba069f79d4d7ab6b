"""A chat model as the target: what it is asked, and what becomes of its reply."""

import asyncio
from dataclasses import dataclass, field

import pytest

from evalmark import Case, ToolCall, Turn
from evalmark.core.values.call import Reply
from evalmark.errors import ModelCallError
from evalmark.runs.engine.trial import call_target
from evalmark.runs.targets.model import ModelTarget


@dataclass
class Model:
    """Gives one reply, and remembers what it was asked."""

    reply: object
    name: str = "openai/m"
    identity: str = "openai/m at home"
    requests: list = field(default_factory=list)

    async def __call__(self, request):
        self.requests.append(request)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


@pytest.mark.parametrize(
    ("case", "system", "expected"),
    [
        pytest.param({"input": "Hi"}, "", [("user", "Hi")], id="a text"),
        pytest.param(
            {"input": "Hi"}, "Be kind.", [("system", "Be kind."), ("user", "Hi")], id="under a system message"
        ),
        pytest.param({"input": {"b": 1, "a": "é"}}, "", [("user", '{"a":"\\u00e9","b":1}')], id="data as JSON"),
        pytest.param(
            {"input": "And?", "history": (Turn(role="user", content="1"), Turn(role="assistant", content=[2]))},
            "",
            [("user", "1"), ("assistant", "[2]"), ("user", "And?")],
            id="after a history",
        ),
    ],
)
def test_the_model_is_asked_what_the_case_asks(case, system, expected):
    model = Model(Reply(text="Hello"))
    target = ModelTarget(model=model, system=system, settings={"temperature": 0})
    asyncio.run(target(Case(id="1", **case)))
    (request,) = model.requests
    assert [(turn.role, turn.content) for turn in request.messages] == expected
    assert request.settings == {"temperature": 0}


@pytest.mark.parametrize(
    ("reply", "value", "error", "metadata"),
    [
        pytest.param(Reply(text="Hello", key="k-0-0"), "Hello", None, {"calls": ["k-0-0"]}, id="an answer"),
        pytest.param(Reply(text="Hello", reasoning="hm"), "Hello", None, {"reasoning": "hm"}, id="one with reasons"),
        pytest.param(Reply(text="He", status="truncated"), "He", "cut by a length limit", {}, id="cut short"),
        pytest.param(Reply(text="No.", status="refused"), "No.", "refused to answer", {}, id="a refusal"),
        pytest.param(Reply(status="filtered"), "", "content filter", {}, id="held back"),
        pytest.param(Reply(status="empty"), "", "empty reply", {}, id="nothing"),
    ],
)
def test_only_a_whole_answer_is_one(reply, value, error, metadata):
    output = asyncio.run(ModelTarget(model=Model(reply))(Case(id="1", input="Hi")))
    assert (output.value, dict(output.metadata)) == (value, metadata)
    assert (output.error is None) if error is None else (error in output.error)


def test_tools_that_the_model_called_are_part_of_the_output():
    call = ToolCall(name="search", arguments={"q": "x"})
    output = asyncio.run(ModelTarget(model=Model(Reply(text="", tool_calls=(call,))))(Case(id="1", input="Hi")))
    assert (output.tool_calls, output.error) == ((call,), None)


def test_a_call_that_fails_is_the_error_of_its_case():
    model = Model(ModelCallError("openai/m: 500", fault="transient"))
    assert (
        asyncio.run(call_target(ModelTarget(model=model), Case(id="1", input="Hi"))).error
        == "ModelCallError: openai/m: 500"
    )


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"model": Model(None, identity="elsewhere")}, id="another endpoint"),
        pytest.param({"system": "Be brief."}, id="another system message"),
        pytest.param({"settings": {"temperature": 1}}, id="another setting"),
    ],
)
def test_another_way_of_asking_is_another_target(other):
    def target(**changed):
        return ModelTarget(**{"model": Model(None), "system": "", "settings": {}} | changed)

    assert target().fingerprint == target().fingerprint != target(**other).fingerprint
