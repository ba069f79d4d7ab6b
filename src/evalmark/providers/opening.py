"""Chat models by their names."""

from collections.abc import Callable, Mapping
from typing import Any

from evalmark.roles import ChatModel

from .anthropic import AnthropicChat
from .bridge import BridgedChat
from .gemini import GeminiChat
from .http import Http
from .names import BRIDGE, Endpoint, find_endpoint
from .openai import OpenAIChat

_OWN: Mapping[str, Callable[[Endpoint, Http, float], ChatModel]] = {
    "anthropic": AnthropicChat,
    "gemini": GeminiChat,
}
"""Providers with a form of their own; all others speak as OpenAI does."""


def open_chat(
    name: str, *, environ: Mapping[str, str], table: Mapping[str, Any], http: Http, within: float
) -> ChatModel:
    """The chat model that a name means; nothing is sent before its first call, and no key is needed before it.

    `table` is `[tool.evalmark.models]`; `within` is how many seconds each attempt may take.

    Raises:
        ConfigError: the name means none, or needs pydantic-ai, which is not installed; the sentence says what to do.
    """
    endpoint = find_endpoint(name, environ, table)
    if endpoint.provider == BRIDGE:
        return BridgedChat(endpoint, http, within, environ=environ)
    return _OWN.get(endpoint.provider, OpenAIChat)(endpoint, http, within)
