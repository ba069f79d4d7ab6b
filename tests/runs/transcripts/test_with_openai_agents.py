"""Real runs of OpenAI Agents, with models that say what a script says; skipped where the package is not installed."""

import asyncio

import pytest
from pydantic import BaseModel

from evalmark import Case, ToolCall, Turn, evaluate
from evalmark.core.values.case import Usage
from evalmark.runs.targets.function import as_target
from evalmark.runs.transcripts.openai_agents import from_openai_agents

agents = pytest.importorskip("agents", reason="openai-agents is not installed")
if not hasattr(agents, "Runner"):
    pytest.skip("the module `agents` is another package", allow_module_level=True)
responses = pytest.importorskip("openai.types.responses")
QUIET = agents.RunConfig(tracing_disabled=True)


def said(text):
    part = responses.ResponseOutputText(text=text, type="output_text", annotations=[])
    return responses.ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])


def called(name, arguments, call_id):
    return responses.ResponseFunctionToolCall(type="function_call", name=name, arguments=arguments, call_id=call_id)


def thought(text):
    return responses.ResponseReasoningItem(id="r", type="reasoning", summary=[{"type": "summary_text", "text": text}])


class Scripted(agents.Model):
    """A model that gives these replies in turn, and keeps what it was asked."""

    def __init__(self, *replies, usage=None):
        self.replies, self.asked, self.usage = list(replies), [], usage

    async def get_response(self, system_instructions, input, *args, **named):  # noqa: A002
        self.asked.append(input if isinstance(input, str) else [*input])
        usage = agents.Usage(requests=1, **self.usage or {})
        return agents.ModelResponse(output=self.replies.pop(0), usage=usage, response_id=None)

    def stream_response(self, *args, **named):
        raise AssertionError("nobody asked for a stream")


@agents.function_tool
def weather(city: str) -> dict:
    """The weather in a city."""
    if city == "Atlantis":
        raise ValueError("no such town")
    return {"degrees": 3}


def run(agent, asked="How cold is Oslo?"):
    return asyncio.run(agents.Runner.run(agent, asked, run_config=QUIET))


LOOKS = [thought("They want degrees."), said("Let me look."), called("weather", '{"city": "Oslo"}', "a")]


def test_a_run_gives_what_was_said_what_was_called_and_what_it_took():
    usage = {"input_tokens": 20, "output_tokens": 5, "total_tokens": 25}
    model = Scripted([*LOOKS, called("weather", '{"city": "Atlantis"}', "b")], [said("3 degrees.")], usage=usage)
    result = run(agents.Agent(name="helper", instructions="Be brief.", model=model, tools=[weather]))
    output = from_openai_agents(result)
    assert output.value == "3 degrees."
    found, lost = output.tool_calls
    assert found == ToolCall(name="weather", arguments={"city": "Oslo"}, result={"degrees": 3}, id="a")
    assert lost.result is None
    assert lost.error.startswith("An error occurred while running the tool")
    assert output.transcript == (
        Turn(role="system", content="Be brief."),
        Turn(role="user", content="How cold is Oslo?"),
        Turn(role="assistant", content="Let me look."),
        found,
        lost,
        Turn(role="assistant", content="3 degrees."),
    )
    assert output.usage == Usage(input_tokens=40, output_tokens=10)
    assert output.metadata == {"reasoning": "They want degrees."}


def test_a_handoff_is_a_call_and_the_other_agent_answers():
    second = agents.Agent(name="second", model=Scripted([said("Here I am.")]))
    model = Scripted([called("transfer_to_second", "{}", "h")])
    output = from_openai_agents(run(agents.Agent(name="first", model=model, handoffs=[second])))
    assert output.value == "Here I am."
    (call,) = output.tool_calls
    assert (call.name, call.id, call.error) == ("transfer_to_second", "h", None)
    assert "second" in call.result
    assert output.usage is None


def test_a_structured_answer_is_the_value():
    class City(BaseModel):
        name: str
        degrees: int

    model = Scripted([said('{"name": "Oslo", "degrees": 3}')])
    output = from_openai_agents(run(agents.Agent(name="helper", model=model, output_type=City)))
    assert output.value == {"name": "Oslo", "degrees": 3}


def test_calls_of_earlier_turns_are_not_those_of_this_run():
    model = Scripted(LOOKS, [said("3 degrees.")], [said("You are welcome.")])
    helper = agents.Agent(name="helper", model=model, tools=[weather])
    earlier = run(helper).to_input_list()
    output = from_openai_agents(run(helper, [*earlier, {"role": "user", "content": "Thanks!"}]))
    assert output.transcript == (
        Turn(role="user", content="Thanks!"),
        Turn(role="assistant", content="You are welcome."),
    )


def test_an_agent_as_the_task_is_asked_with_its_history_and_sends_no_trace():
    sent = []

    class Watch(agents.tracing.TracingProcessor):
        def on_trace_start(self, trace):
            sent.append(trace)

        def on_trace_end(self, trace):
            sent.append(trace)

        on_span_start = on_span_end = on_trace_start

        def shutdown(self):
            pass

        force_flush = shutdown

    agents.set_trace_processors([Watch()])
    model = Scripted(LOOKS, [said("3 degrees.")], [said("Ada.")])
    helper = agents.Agent(name="helper", model=model, tools=[weather])
    result = evaluate([{"input": "Oslo?", "expected": "3 degrees."}], helper, ["equals"], store=None).results[0]
    assert result.verdict == "pass"
    assert [call.result for call in result.output.tool_calls] == [{"degrees": 3}]
    turns = (Turn(role="user", content="I am Ada."), Turn(role="assistant", content="Hello Ada."))
    output = asyncio.run(as_target(helper)(Case(id="2", input="Who am I?", history=turns)))
    assert output.value == "Ada."
    assert [(item["role"], item["content"]) for item in model.asked[-1]] == [
        ("user", "I am Ada."),
        ("assistant", "Hello Ada."),
        ("user", "Who am I?"),
    ]
    assert sent == []


@agents.function_tool(name_override="weather")
def other_weather(city: str) -> dict:
    """The weather in a city."""
    return {"degrees": 4}


def told(context, agent):
    return "Be brief."


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"instructions": "Be long."}, id="other instructions"),
        pytest.param({"instructions": told}, id="a function that makes them"),
        pytest.param({"tools": [other_weather]}, id="a tool of the same name with other code"),
        pytest.param({"tools": []}, id="no tool"),
        pytest.param({"output_type": dict}, id="another form of the answer"),
        pytest.param({"model_settings": agents.ModelSettings(temperature=0.5)}, id="another temperature"),
        pytest.param({"model": "another"}, id="another model"),
        pytest.param({"handoffs": [agents.Agent(name="second")]}, id="another agent to hand over to"),
    ],
)
def test_a_fingerprint_changes_with_what_an_agent_is_told(changed):
    settings = {"name": "helper", "instructions": "Be brief.", "model": Scripted(), "tools": [weather]}

    def mark(**more):
        return as_target(agents.Agent(**settings | more)).fingerprint

    assert mark() == mark(model=Scripted())
    assert mark(**changed) != mark()


def test_agents_that_hand_over_to_each_other_have_a_fingerprint_of_both():
    def pair(words):
        first, second = agents.Agent(name="first"), agents.Agent(name="second", instructions=words)
        first.handoffs, second.handoffs = [second], [first]
        return as_target(first).fingerprint

    assert pair("a") == pair("a") != pair("b")
