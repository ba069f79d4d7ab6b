"""Attributes of other conventions for spans, converted to those of OpenTelemetry for generative AI.

Read are OpenInference (Phoenix, Arize), Langfuse, OpenLLMetry (Traceloop), Logfire with pydantic-ai, and Vercel's AI SDK. Inputs and
outputs that no GenAI attribute can hold stay under OpenInference's names `input.value` and `output.value`.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

INPUT, OUTPUT, COST = "input.value", "output.value", "gen_ai.usage.cost"
CONVERSATION, OPERATION = "gen_ai.conversation.id", "gen_ai.operation.name"
MOST_MESSAGES = 10_000
"""Largest number of a message in the name of an attribute."""

_SAME: Mapping[str, tuple[str, ...]] = {
    CONVERSATION: (
        "session.id",
        "langfuse.session.id",
        "traceloop.association.properties.session_id",
        "langsmith.trace.session_id",
        "ai.telemetry.metadata.sessionId",
    ),
    "gen_ai.request.model": ("llm.model_name", "langfuse.observation.model.name", "ai.model.id", "llm.request.model"),
    "gen_ai.prompt.name": ("llm.prompt_template.name", "langfuse.observation.prompt.name"),
    "gen_ai.tool.name": ("tool.name", "ai.toolCall.name"),
    "gen_ai.tool.call.arguments": ("tool_arguments", "tool.parameters", "ai.toolCall.args"),
    "gen_ai.tool.call.result": ("tool_response", "ai.toolCall.result"),
    "gen_ai.usage.input_tokens": (
        "llm.token_count.prompt",
        "gen_ai.usage.prompt_tokens",
        "llm.usage.prompt_tokens",
        "ai.usage.promptTokens",
        "ai.usage.inputTokens",
    ),
    "gen_ai.usage.output_tokens": (
        "llm.token_count.completion",
        "gen_ai.usage.completion_tokens",
        "llm.usage.completion_tokens",
        "ai.usage.completionTokens",
        "ai.usage.outputTokens",
    ),
    "gen_ai.usage.cache_read.input_tokens": (
        "llm.token_count.prompt_details.cache_read",
        "gen_ai.usage.details.cache_read_tokens",
        "ai.usage.cachedInputTokens",
    ),
    "gen_ai.usage.reasoning.output_tokens": ("llm.token_count.completion_details.reasoning",),
    COST: ("llm.cost.total", "operation.cost"),
    INPUT: ("langfuse.observation.input", "traceloop.entity.input", "ai.prompt", "langfuse.trace.input"),
    OUTPUT: (
        "langfuse.observation.output",
        "traceloop.entity.output",
        "final_result",
        "ai.response.text",
        "ai.response.object",
        "langfuse.trace.output",
    ),
}
"""Each name, and the names of other conventions for the same, the first one found counts."""
_KINDS = ("openinference.span.kind", "langfuse.observation.type", "traceloop.span.kind")
_OPERATIONS = {
    "llm": "chat",
    "generation": "chat",
    "tool": "execute_tool",
    "retriever": "retrieval",
    "embedding": "embeddings",
    "agent": "invoke_agent",
    "chain": "invoke_workflow",
    "workflow": "invoke_workflow",
}
_VERCEL = {"ai.toolCall": "execute_tool", "ai.generateText": "invoke_agent", "ai.streamText": "invoke_agent"}
_MESSAGES = {
    "gen_ai.input.messages": re.compile(r"(?:llm\.input_messages|gen_ai\.prompt)\.(\d+)\.(?:message\.)?(role|content)"),
    "gen_ai.output.messages": re.compile(
        r"(?:llm\.output_messages|gen_ai\.completion)\.(\d+)\.(?:message\.)?(role|content)"
    ),
}
_DOCUMENT = re.compile(r"retrieval\.documents\.(\d+)\.document\.content")
_LANGFUSE_COUNTS = {"input": "gen_ai.usage.input_tokens", "output": "gen_ai.usage.output_tokens"}


def genai_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Add the GenAI attributes that follow from those of other conventions; those that are there already count.

    >>> found = genai_attributes({"openinference.span.kind": "LLM", "llm.token_count.prompt": 7, "input.value": "Hi"})
    >>> found["gen_ai.operation.name"], found["gen_ai.usage.input_tokens"]
    ('chat', 7)
    """
    found = {
        name: next(attributes[other] for other in others if other in attributes)
        for name, others in _SAME.items()
        if any(other in attributes for other in others)
    }
    if operation := _operation(attributes):
        found[OPERATION] = operation
    for name, pattern in _MESSAGES.items():
        if messages := _numbered_messages(attributes, pattern):
            found[name] = messages
    if documents := _documents(attributes):
        found["gen_ai.retrieval.documents"] = documents
    found |= _langfuse_figures(attributes) | _pydantic_ai_messages(attributes)
    return {**found, **attributes}


def event_attributes(events: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the attributes of messages that an older instrumentation recorded as events of a span.

    >>> event_attributes([("gen_ai.user.message", {"content": "Hi"}), ("gen_ai.choice", {"message": '{"content": "Yes"}'})])
    {'gen_ai.input.messages': [{'role': 'user', 'content': 'Hi'}], 'gen_ai.output.messages': [{'role': 'assistant', \
'content': 'Yes'}]}
    """
    given: list[Any] = []
    replies: list[Any] = []
    more: dict[str, Any] = {}
    for name, attributes in events:
        if name == "gen_ai.choice":
            message = _json(attributes.get("message"))
            content = message.get("content") if isinstance(message, dict) else message
            replies.append({"role": "assistant", "content": attributes.get("content", content)})
        elif name.startswith("gen_ai.") and name.endswith(".message"):
            given.append({"role": name.split(".")[1], "content": attributes.get("content")})
        elif name.startswith("gen_ai."):  # the details of an operation
            more |= attributes
    lists = {"gen_ai.input.messages": given, "gen_ai.output.messages": replies}
    return {name: messages for name, messages in lists.items() if messages} | more


def _operation(attributes: Mapping[str, Any]) -> str:
    kind = next((str(attributes[name]).lower() for name in _KINDS if attributes.get(name)), "")
    if kind:
        return _OPERATIONS.get(kind, kind)
    vercel = str(attributes.get("ai.operationId", ""))
    return next((name for start, name in _VERCEL.items() if vercel == start), "chat" if vercel else "")


def _numbered_messages(attributes: Mapping[str, Any], pattern: re.Pattern[str]) -> list[dict[str, Any]]:
    """Return the messages whose role and content are attributes with a number in their name."""
    messages: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        match = pattern.fullmatch(name)
        if match and int(match[1]) < MOST_MESSAGES:
            messages.setdefault(int(match[1]), {"role": "", "content": None})[match[2]] = value
    return [message for _, message in sorted(messages.items())]


def _documents(attributes: Mapping[str, Any]) -> list[Any]:
    found = {int(match[1]): value for name, value in attributes.items() if (match := _DOCUMENT.fullmatch(name))}
    return [value for _, value in sorted(found.items())]


def _langfuse_figures(attributes: Mapping[str, Any]) -> dict[str, Any]:
    usage = _json(attributes.get("langfuse.observation.usage_details"))
    cost = _json(attributes.get("langfuse.observation.cost_details"))
    found = {
        name: usage[key]
        for key, name in _LANGFUSE_COUNTS.items()
        if isinstance(usage, dict) and isinstance(usage.get(key), int)
    }
    if isinstance(cost, dict) and isinstance(cost.get("total"), (int, float)):
        found[COST] = cost["total"]
    return found


def _pydantic_ai_messages(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the messages before the first reply of an agent, and its last reply."""
    messages = _json(attributes.get("pydantic_ai.all_messages", attributes.get("all_messages_events")))
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return {}
    replies = [number for number, message in enumerate(messages) if message.get("role") == "assistant"]
    found = {"gen_ai.input.messages": messages[: replies[0]] if replies else messages}
    return found | ({"gen_ai.output.messages": [messages[replies[-1]]]} if replies else {})


def _json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
