"""Agents as targets, by classes that only look like those of the frameworks; the real ones are in tests/transcripts."""

import asyncio

import pytest

from evalmark import Case
from evalmark.errors import ConfigError
from evalmark.runs.targets.function import as_target


def agent_of(module, kind, /, **fields):
    """An object of a class of that module, made from a class of that name."""
    parent = type(kind, (), {"__module__": module})
    made = type("Agent", (parent,), {"__module__": "mine"})()
    vars(made).update(fields)
    return made


def running(answer="a"):
    asked = []

    async def run(given, message_history=None):
        asked.append((given, message_history))
        return answer

    return run, asked


def test_an_agent_is_run_with_the_input_and_timed():
    run, asked = running()
    agent = agent_of("pydantic_ai.agent.abstract", "AbstractAgent", run=run, name="helper")
    target = as_target(agent)
    output = asyncio.run(target(Case(id="1", input={"b": 1, "a": 2})))
    assert (target.name, output.value, asked) == ("helper", "a", [('{"a":2,"b":1}', None)])
    assert output.seconds >= 0


def test_an_agent_without_a_name_is_called_like_its_class():
    agent = agent_of("pydantic_ai.agent.abstract", "AbstractAgent", run=running()[0], name=None)
    assert as_target(agent).name == "mine:Agent"


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(agent_of("agents.agent", "AgentBase"), id="a class of the user's own package `agents`"),
        pytest.param(agent_of("mine", "AbstractAgent"), id="a class that is only called like one"),
    ],
)
def test_what_only_looks_like_an_agent_is_refused_as_before(agent):
    with pytest.raises(ConfigError, match="which cannot be called"):
        as_target(agent)


def test_agents_that_are_told_the_same_have_one_fingerprint_and_others_another():
    def mark(**fields):
        named = {"name": "a", "instructions": "b", "handoffs": [], "tools": []} | fields
        return as_target(agent_of("agents.agent", "AgentBase", **named)).fingerprint

    assert mark() == mark()
    assert len({mark(), mark(name="c"), mark(instructions="c"), mark(instructions=running), mark(model="m")}) == 5
