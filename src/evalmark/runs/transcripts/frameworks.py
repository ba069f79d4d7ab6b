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


def recognize_output(value: Any) -> Output | None:
    """Convert a result of a known framework to an output, or return None.

    Known are results of pydantic-ai, OpenAI Agents and AgentExecutor, LangGraph states, LangChain messages, and
    responses of OpenAI's SDK. Lists and other mappings are not converted.

    >>> recognize_output([{"role": "assistant", "content": "Oslo"}]) is None
    True
    """
    if isinstance(value, Mapping):
        return from_langchain(value) if _is_state(value) or _is_executed(value) else None
    if is_graph_output(value):
        return recognize_output(value.value) or Output(value=value.value)
    for kind in type(value).__mro__:
        reader = _READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        # The user may have a package named `agents`.
        if reader is from_openai_agents and not (hasattr(value, "new_items") and hasattr(value, "raw_responses")):
            reader = None
        if reader is not None:
            return reader(value)
    return from_langchain(value) if is_message(value) else None


def _is_state(value: Mapping[Any, Any]) -> bool:
    """Return whether the mapping has `messages`, all of LangChain."""
    messages = value.get("messages")
    return isinstance(messages, (list, tuple)) and bool(messages) and all(map(_is_of_langchain, messages))


def _is_executed(value: Mapping[Any, Any]) -> bool:
    steps = value.get("intermediate_steps")
    if "output" not in value or not isinstance(steps, (list, tuple)):
        return False
    return all(isinstance(step, (list, tuple)) and len(step) == 2 and _is_of_langchain(step[0]) for step in steps)


def _is_of_langchain(value: Any) -> bool:
    return any(kind.__module__.partition(".")[0] == "langchain_core" for kind in type(value).__mro__)
