"""Real runs of pydantic-ai's agents, with models that say what a script says; skipped where it is not installed."""

import asyncio
import re
from datetime import datetime

import pytest
from pydantic import BaseModel

from evalmark import Case, Output, ToolCall, Turn, evaluate
from evalmark.runs.targets.function import as_target
from evalmark.runs.transcripts.pydantic_ai import from_pydantic_ai
from tests.conftest import ROOT

pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
messages = pytest.importorskip("pydantic_ai.messages")
function = pytest.importorskip("pydantic_ai.models.function")


class City(BaseModel):
    name: str
    degrees: int


def speaking(*replies):
    """A model that gives these replies in turn; a text is one, and so is a list of (tool, arguments)."""

    def reply(history, info):
        said = replies[sum(isinstance(message, messages.ModelResponse) for message in history)]
        if isinstance(said, str):
            return messages.ModelResponse(parts=[messages.TextPart(content=said)])
        return messages.ModelResponse(parts=[_part(item) for item in said])

    return function.FunctionModel(reply, model_name="scripted")


def _part(item):
    if isinstance(item, str):
        return messages.TextPart(content=item)
    return messages.ToolCallPart(tool_name=item[0], args=item[1])


def weather(city: str) -> dict:
    if city == "Atlantis":
        raise pydantic_ai.ModelRetry("no such town")
    return {"degrees": 3}


def agent(*replies, **settings):
    return pydantic_ai.Agent(speaking(*replies), tools=[weather], **settings)


def calls_of(output):
    return [(call.name, call.arguments, call.result, call.error) for call in output.tool_calls]


def test_a_run_gives_what_was_said_what_was_called_and_what_it_took():
    called = ["Let me look.", ("weather", {"city": "Oslo"}), ("weather", '{"city": "Atlantis"}')]
    result = asyncio.run(agent(called, "3 degrees.", instructions="Be brief.").run("How cold is Oslo?"))
    output = from_pydantic_ai(result)
    assert output.value == "3 degrees."
    assert output.transcript == (
        Turn(role="system", content="Be brief."),
        Turn(role="user", content="How cold is Oslo?"),
        Turn(role="assistant", content="Let me look."),
        *output.tool_calls,
        Turn(role="assistant", content="3 degrees."),
    )
    assert calls_of(output) == [
        ("weather", {"city": "Oslo"}, {"degrees": 3}, None),
        ("weather", {"city": "Atlantis"}, None, "no such town"),
    ]
    assert all(call.id and call.seconds >= 0 for call in output.tool_calls)
    assert all(datetime.fromisoformat(call.started).utcoffset().total_seconds() == 0 for call in output.tool_calls)
    told = [reply.usage for reply in result.all_messages() if isinstance(reply, messages.ModelResponse)]
    assert output.usage.input_tokens == sum(usage.input_tokens for usage in told) > 0
    assert output.usage.output_tokens == sum(usage.output_tokens for usage in told) > 0
    assert output.usage.cached_tokens is None


def test_the_call_that_gives_the_structured_answer_is_no_tool_call():
    answers = [("final_result", {"name": "Oslo"})], [("final_result", {"name": "Oslo", "degrees": 3})]
    result = asyncio.run(agent([("weather", {"city": "Oslo"})], *answers, output_type=City).run("Oslo?"))
    output = from_pydantic_ai(result)
    assert output.value == {"name": "Oslo", "degrees": 3}
    assert [call.name for call in output.tool_calls] == ["weather"]
    refused, taken = [turn for turn in output.transcript if isinstance(turn, Turn) and turn.role == "assistant"]
    assert refused.content == {"name": "Oslo"}
    assert taken.content == {"name": "Oslo", "degrees": 3}
    (why,) = [turn.content for turn in output.transcript if isinstance(turn, Turn) and turn.role == "tool"]
    assert why == "degrees: Field required"


def test_calls_of_earlier_turns_are_not_those_of_this_run():
    helper = agent([("weather", {"city": "Oslo"})], "3 degrees.", "You are welcome.")
    first = asyncio.run(helper.run("Oslo?"))
    second = asyncio.run(helper.run("Thanks!", message_history=first.all_messages()))
    assert from_pydantic_ai(second) == Output(
        value="You are welcome.",
        transcript=(Turn(role="user", content="Thanks!"), Turn(role="assistant", content="You are welcome.")),
        usage=from_pydantic_ai(second).usage,
    )
    assert [call.name for call in from_pydantic_ai(second.all_messages()).tool_calls] == ["weather"]


def test_messages_that_were_written_to_json_give_the_same():
    result = asyncio.run(agent([("weather", {"city": "Oslo"})], "3 degrees.").run("Oslo?"))
    written = messages.ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
    assert from_pydantic_ai(written) == from_pydantic_ai(result.all_messages())
    assert from_pydantic_ai(written).transcript == from_pydantic_ai(result).transcript


def test_a_message_with_a_picture_says_that_there_was_one():
    asked = [
        "What is it?",
        messages.ImageUrl(url="https://example.org/a.png"),
        messages.BinaryContent(b"1", media_type="image/png"),
    ]
    output = from_pydantic_ai(asyncio.run(agent("A cat.").run(asked)))
    assert output.transcript[0] == Turn(role="user", content="What is it?\n[image-url]\n[binary]")


def test_a_result_that_a_task_returns_and_an_agent_as_the_task_give_the_same():
    helper = agent([("weather", {"city": "Oslo"})], "3 degrees.", name="helper")

    async def task(question):
        return await helper.run(question)

    runs = [
        evaluate([{"input": "Oslo?", "expected": "3 degrees."}], it, ["equals"], store=None) for it in (task, helper)
    ]
    (returned,), (asked,) = [run.results for run in runs]
    assert returned.verdict == asked.verdict == "pass"
    for output in (returned.output, asked.output):
        assert calls_of(output) == [("weather", {"city": "Oslo"}, {"degrees": 3}, None)]
        assert output.usage is not None
        assert output.seconds > 0
    assert runs[1].target == "helper"


def test_an_agent_is_told_the_turns_before_the_question():
    seen = []

    def reply(history, info):
        seen.extend(part for message in history for part in message.parts)
        return messages.ModelResponse(parts=[messages.TextPart(content="Ada.")])

    helper = pydantic_ai.Agent(function.FunctionModel(reply))
    history = (
        Turn(role="system", content="Be kind."),
        Turn(role="user", content="I am Ada."),
        Turn(role="assistant", content="Hello Ada."),
    )
    output = asyncio.run(as_target(helper)(Case(id="1", input={"question": "Who am I?"}, history=history)))
    assert [(part.part_kind, part.content) for part in seen] == [
        ("system-prompt", "Be kind."),
        ("user-prompt", "I am Ada."),
        ("text", "Hello Ada."),
        ("user-prompt", '{"question":"Who am I?"}'),
    ]
    assert [turn.content for turn in output.transcript] == ['{"question":"Who am I?"}', "Ada."]


def other_weather(city: str) -> dict:
    return {"degrees": 4}


def told(ctx: object) -> str:
    return "Be brief."


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"instructions": "Be long."}, id="other instructions"),
        pytest.param({"instructions": [told]}, id="a function that makes them"),
        pytest.param({"system_prompt": "Be brief."}, id="a system prompt"),
        pytest.param({"tools": [other_weather]}, id="another tool"),
        pytest.param({"tools": []}, id="no tool"),
        pytest.param({"output_type": City}, id="another form of the answer"),
        pytest.param({"model_settings": {"temperature": 0.5}}, id="another temperature"),
        pytest.param({"name": "other"}, id="another name"),
        pytest.param({"model": "test"}, id="another model"),
    ],
)
def test_a_fingerprint_changes_with_what_an_agent_is_told(changed):
    settings = {"model": speaking("a"), "instructions": "Be brief.", "tools": [weather], "name": "helper"}

    def mark(**more):
        return as_target(pydantic_ai.Agent(**settings | more)).fingerprint

    assert mark() == mark(model=speaking("a"))
    assert mark(**changed) != mark()


def test_calls_of_a_run_that_failed_are_not_lost_where_they_are_captured():
    with pydantic_ai.capture_run_messages() as captured, pytest.raises(pydantic_ai.UnexpectedModelBehavior):
        asyncio.run(agent(*[[("weather", {"city": "Atlantis"})]] * 5).run("Atlantis?"))
    output = from_pydantic_ai(list(captured))
    assert output.value is None
    assert output.tool_calls[0] == ToolCall(
        name="weather",
        arguments={"city": "Atlantis"},
        error="no such town",
        id=output.tool_calls[0].id,
        started=output.tool_calls[0].started,
        seconds=output.tool_calls[0].seconds,
    )


def test_the_example_of_the_page_on_targets_runs():
    page = (ROOT / "docs" / "reference" / "targets.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python pydantic-ai\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    exec(compile(block, "docs/reference/targets.md", "exec"), {"__name__": "__main__"})  # noqa: S102  the page is ours
