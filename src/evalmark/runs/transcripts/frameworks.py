"""Recognize results of known frameworks by the module of their class, without importing the frameworks."""

from collections.abc import Callable, Mapping
from typing import Any

from evalmark.core.values.case import Output

from .langchain import from_langchain, is_graph_output, is_message
from .openai import from_openai
from .openai_agents import from_openai_agents
from .pydantic_ai import from_pydantic_ai

_READERS: Mapping[tuple[str, str], Callable[[Any], Output]] = {
    ("openai", "ChatCompletion"): from_openai,
    ("openai", "ChatCompletionMessage"): from_openai,
    ("openai", "Response"): from_openai,
    ("pydantic_ai", "AgentRunResult"): from_pydantic_ai,
    ("agents", "RunResultBase"): from_openai_agents,
    ("langchain_core", "BaseMessage"): from_langchain,
}
"""Readers by the package and name of a class or of one of its base classes."""


def recognize_output(thing: Any) -> Output | None:
    """Convert a result of a known framework to an output, or return None.

    Known are results of pydantic-ai, OpenAI Agents and AgentExecutor, LangGraph states, LangChain messages, and
    responses of OpenAI's SDK. Lists and other mappings are not converted.

    >>> recognize_output([{"role": "assistant", "content": "Oslo"}]) is None
    True
    """
    if isinstance(thing, Mapping):
        return from_langchain(thing) if _is_state(thing) or _is_executed(thing) else None
    if is_graph_output(thing):
        return recognize_output(thing.value) or Output(value=thing.value)
    for kind in type(thing).__mro__:
        reader = _READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        # The user may have a package named `agents`.
        if reader is from_openai_agents and not (hasattr(thing, "new_items") and hasattr(thing, "raw_responses")):
            reader = None
        if reader is not None:
            return reader(thing)
    return from_langchain(thing) if is_message(thing) else None


def _is_state(thing: Mapping[Any, Any]) -> bool:
    """Return whether the mapping has `messages`, all of LangChain."""
    messages = thing.get("messages")
    return isinstance(messages, (list, tuple)) and bool(messages) and all(map(_is_of_langchain, messages))


def _is_executed(thing: Mapping[Any, Any]) -> bool:
    steps = thing.get("intermediate_steps")
    if "output" not in thing or not isinstance(steps, (list, tuple)):
        return False
    return all(isinstance(step, (list, tuple)) and len(step) == 2 and _is_of_langchain(step[0]) for step in steps)


def _is_of_langchain(thing: Any) -> bool:
    return any(kind.__module__.partition(".")[0] == "langchain_core" for kind in type(thing).__mro__)
