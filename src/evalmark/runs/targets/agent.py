"""Agents of pydantic-ai and OpenAI Agents as targets, with their transcripts."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

from evalmark.core.context.trial_context import current_trial_context
from evalmark.core.foreign.identity import describe_object
from evalmark.core.lazy import need
from evalmark.core.values.case import Case, Output, Turn
from evalmark.core.values.plain_data import canonical, fingerprint

from .output import as_output

Framework = Literal["pydantic_ai", "agents"]
_SETTINGS = ("model_settings", "output_type", "prompt", "tool_use_behavior", "input_guardrails", "output_guardrails")
"""Settings of an agent besides its instructions, in one or both packages."""


@dataclass(frozen=True, kw_only=True)
class AgentTarget:
    """An agent, run on the event loop with the history of the case before its input."""

    name: str
    agent: Any
    kind: Framework
    """The import name of its package."""
    fingerprint: str

    is_async: ClassVar[bool] = True
    """Agents and their tools run on the event loop."""

    async def __call__(self, case: Case) -> Output:
        """Run the agent on a case. Raises the agent's error."""
        message = case.input if isinstance(case.input, str) else canonical(case.input)
        if self.kind == "pydantic_ai":
            run = partial(self.agent.run, message, message_history=_messages(case.history))
        else:
            run = _runner(self.agent, message, case.history)
        uses = current_trial_context()
        clock = uses.clock()
        with clock:
            returned = await run()
        return as_output(returned, uses.active_seconds())


def agent_framework(thing: Any) -> Framework | None:
    """Return the package of an agent, or None if the object is not an agent. Imports neither package."""
    for kind in type(thing).__mro__:
        named = (kind.__module__.partition(".")[0], kind.__name__)
        if named == ("pydantic_ai", "AbstractAgent"):
            return "pydantic_ai"
        # `agents` is a name that a package of the user may have as well.
        if named == ("agents", "AgentBase") and all(hasattr(thing, name) for name in ("instructions", "handoffs")):
            return "agents"
    return None


def agent_target(agent: Any, kind: Framework, name: str) -> AgentTarget:
    """Create the target of an agent, without running it."""
    return AgentTarget(
        name=name,
        agent=agent,
        kind=kind,
        fingerprint=fingerprint(name, kind, [*map(_description, _reachable_agents(agent))]),
    )


def _runner(agent: Any, message: str, history: Sequence[Turn]) -> partial[Any]:
    """Return a call of `Runner.run` with tracing disabled, since traces would go to OpenAI."""
    package = need("agents", "openai-agents")
    messages = [{"role": turn.role, "content": _as_text(turn)} for turn in history]
    return partial(
        package.Runner.run,
        agent,
        [*messages, {"role": "user", "content": message}] if messages else message,
        run_config=package.RunConfig(tracing_disabled=True),
    )


def _messages(history: Sequence[Turn]) -> list[Any] | None:
    """Convert earlier turns to messages of pydantic-ai."""
    if not history:
        return None
    package = need("pydantic_ai.messages", "pydantic-ai")
    found = []
    for turn in history:
        text = _as_text(turn)
        if turn.role == "assistant":
            found.append(package.ModelResponse(parts=[package.TextPart(content=text)]))
        else:
            form = package.SystemPromptPart if turn.role == "system" else package.UserPromptPart
            found.append(package.ModelRequest(parts=[form(content=text)]))
    return found


def _as_text(turn: Turn) -> str:
    return turn.content if isinstance(turn.content, str) else canonical(turn.content)


def _reachable_agents(agent: Any) -> list[Any]:
    """Return the agent and all agents reachable by handoffs, each once."""
    found = [agent]
    for member in found:
        for handoff in getattr(member, "handoffs", None) or ():
            if agent_framework(handoff) and not any(handoff is known for known in found):
                found.append(handoff)
    return found


def _description(agent: Any) -> Any:
    """Return what identifies an agent: model, instructions, settings, code of its tools, and handoffs."""
    handoffs = (getattr(handoff, "agent_name", None) or handoff for handoff in getattr(agent, "handoffs", None) or ())
    return {
        "name": getattr(agent, "name", None),
        "model": _model(getattr(agent, "model", None)),
        "instructions": describe_object([*_instructions(agent)]),
        "settings": {name: describe_object(getattr(agent, name, None)) for name in _SETTINGS},
        "tools": [[name, describe_object(tool)] for name, tool in _tools(agent)],
        "handoffs": [getattr(handoff, "name", handoff) for handoff in handoffs],
    }


def _model(model: Any) -> Any:
    """Return the name and address of a model, without clients and keys."""
    if model is None or isinstance(model, str):
        return model
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return [type(model).__qualname__, str(name or ""), str(getattr(model, "base_url", None) or "")]


def _instructions(agent: Any) -> Iterator[Any]:
    """Yield instruction texts and functions; pydantic-ai stores them in undocumented fields."""
    instructions = getattr(agent, "instructions", None)
    if not inspect.ismethod(instructions):  # there it is a decorator
        yield instructions
    for name in ("_instructions", "_system_prompts", "_system_prompt_functions"):
        for item in getattr(agent, name, None) or ():
            yield getattr(item, "instruction", None) or getattr(item, "function", None) or item


def _tools(agent: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and functions of the tools; a remote tool is identified by its settings."""
    for toolset in getattr(agent, "toolsets", None) or ():
        held = getattr(toolset, "tools", None)
        if not isinstance(held, Mapping):
            yield type(toolset).__name__, str(getattr(toolset, "id", None) or "")
            continue
        for name, tool in held.items():
            yield str(name), getattr(tool, "function", None) or getattr(tool, "description", None)
    for tool in getattr(agent, "tools", None) or ():
        yield str(getattr(tool, "name", type(tool).__name__)), _functions_of(tool) or tool


def _functions_of(tool: Any) -> list[Any]:
    """Find the user's functions inside the wrappers of an OpenAI Agents tool."""
    waiting, found = [getattr(tool, "on_invoke_tool", None)], []
    for held in waiting:
        if str(getattr(held, "__module__", "")).partition(".")[0] != "agents":
            found += [held] if inspect.isfunction(held) else []
            continue
        inside = inspect.getclosurevars(held).nonlocals if inspect.isfunction(held) else getattr(held, "__dict__", {})
        # Wrappers may hold each other in a circle.
        waiting += [value for value in inside.values() if inspect.isfunction(value) and value not in waiting]
    return found
