"""Create chat models by their names."""

from collections.abc import Mapping
from typing import Any

from evalmark.core.lazy import need
from evalmark.core.protocols import ChatModel

from .endpoint import PYDANTIC_AI, find_endpoint
from .http import HttpClient

_OWN = {"anthropic": "AnthropicChat", "gemini": "GeminiChat"}
"""Providers with an API of their own, each in a module loaded on demand; all others are compatible with OpenAI."""


def open_chat(
    name: str, *, environ: Mapping[str, str], table: Mapping[str, Any], http: HttpClient, within: float
) -> ChatModel:
    """Create the chat model of a name; no request is sent and no key is needed before its first call.

    `table` is `[tool.evalmark.models]`; `within` is the timeout of each attempt in seconds.

    Raises:
        ConfigError: The name is not that of a model.
        MissingExtraError: The name needs pydantic-ai, which is not installed.
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
