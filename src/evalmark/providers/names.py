"""Which model at which address a name means, and which variable holds its key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalmark.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One model at one address."""

    name: str
    """As the user named it."""
    provider: str
    """`openai`, `azure`, `anthropic`, `gemini`, `pydantic-ai`, or one that speaks as OpenAI does: `ollama`, …"""
    model: str
    """As the provider names it; for `pydantic-ai` all after the slash, such as `bedrock:some-model`."""
    base_url: str = ""
    """Without a slash at its end; what the provider's own SDK takes: with `/v1` for those that speak as OpenAI does,
    without a path for Anthropic and Gemini; empty for `pydantic-ai`."""
    key_variable: str = ""
    """The variable that holds the key; empty where there is none."""
    key: str = field(default="", repr=False)
    """Empty where none is set; nothing is sent then."""
    needs_key: bool = False
    """Whether a call without a key cannot succeed."""
    api_version: str = ""
    """Of Azure's dated API; empty for its v1 API and everywhere else."""

    @property
    def identity(self) -> str:
        """Which model at which address, without secrets; part of every call's key."""
        return f"{self.provider}/{self.model}@{self.base_url}"


def find_endpoint(name: str, environ: Mapping[str, str], table: Mapping[str, Any]) -> Endpoint:
    """The endpoint that a name means.

    Raises:
        ConfigError: it means none; the sentence says what to write.
    """
    raise ConfigError(f"{name!r} names no model yet")


def missing_key(endpoint: Endpoint) -> str | None:
    """One sentence that names the variable to set; None when the endpoint can be asked."""
    if endpoint.key or not endpoint.needs_key:
        return None
    return f"{endpoint.name}: no key was found. Set {endpoint.key_variable}."
