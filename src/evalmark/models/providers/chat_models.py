"""Chat models by their names."""

from collections.abc import Mapping
from typing import Any

from evalmark.core.lazy import need
from evalmark.core.protocols import ChatModel

from .endpoint import PYDANTIC_AI, find_endpoint
from .http import HttpClient

_OWN = {"anthropic": "AnthropicChat", "gemini": "GeminiChat"}
"""Providers with a form of their own, each in a file that is loaded for it alone; all others speak as OpenAI does."""


def open_chat(
    name: str, *, environ: Mapping[str, str], table: Mapping[str, Any], http: HttpClient, within: float
) -> ChatModel:
    """The chat model that a name means; nothing is sent before its first call, and no key is needed before it.

    `table` is `[tool.evalmark.models]`; `within` is how many seconds each attempt may take.

    Raises:
        ConfigError: the name means none, or needs pydantic-ai, which is not installed; the sentence says what to do.
    """
    endpoint = find_endpoint(name, environ, table)
    if endpoint.provider == PYDANTIC_AI:
        bridged: ChatModel = need("evalmark.models.providers.pydantic_ai").PydanticAIChat(
            endpoint, http, within, environ=environ
        )
        return bridged
    home = endpoint.provider if endpoint.provider in _OWN else "openai"
    own: ChatModel = getattr(need(f"evalmark.models.providers.{home}"), _OWN.get(home, "OpenAIChat"))(
        endpoint, http, within
    )
    return own
