"""Resolve the name of a model to its provider, address and API key."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from evalmark.core.errors import ConfigError
from evalmark.inputs.secrets.known_secrets import register_secret

from .addresses import ollama_address, split_model_url, strip_suffix, validate_address
from .model_table import ModelEntry, read_table


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One model at one address."""

    name: str
    """As the user named it."""
    provider: str
    """`openai`, `azure`, `anthropic`, `gemini`, `pydantic-ai`, or one that is compatible with OpenAI: `ollama`, …"""
    model: str
    """As the provider names it; for `pydantic-ai` all after the slash, such as `bedrock:some-model`."""
    base_url: str = ""
    """The base URL as the provider's own SDK expects it, without a slash at its end: with `/v1` for APIs compatible with
    OpenAI, without a path for Azure, Anthropic and Gemini; empty for `pydantic-ai`."""
    key_variable: str = ""
    """The variable that holds the key; empty where there is none."""
    key: str = field(default="", repr=False)
    """Empty where none is set; nothing is sent then."""
    needs_key: bool = False
    """Whether a call without a key cannot succeed."""
    api_version: str = ""
    """Of Azure's dated API; empty for its v1 API and everywhere else."""

    def __post_init__(self) -> None:
        if self.key:
            register_secret(self.key)

    @property
    def identity(self) -> str:
        """Model and address without secrets; part of the cache key of every call."""
        version = f"?{self.api_version}" if self.api_version else ""
        return f"{self.provider}/{self.model}@{self.base_url}{version}"

    @property
    def host(self) -> str:
        """The server, for messages."""
        return urlsplit(self.base_url).netloc or self.provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """The address of a provider, and the environment variables that change it."""

    base_url: str = ""
    url_variable: str = ""
    key_variables: tuple[str, ...] = ()
    """The first one that is set is used."""
    path: tuple[str, ...] = ()
    """Ends of an address that are not part of `Endpoint.base_url`."""


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(
        base_url="https://api.openai.com/v1", url_variable="OPENAI_BASE_URL", key_variables=("OPENAI_API_KEY",)
    ),
    "azure": Provider(
        url_variable="AZURE_OPENAI_ENDPOINT", key_variables=("AZURE_OPENAI_API_KEY",), path=("/openai/v1", "/openai")
    ),
    "anthropic": Provider(
        base_url="https://api.anthropic.com",
        url_variable="ANTHROPIC_BASE_URL",
        key_variables=("ANTHROPIC_API_KEY",),
        path=("/v1",),
    ),
    "gemini": Provider(
        base_url="https://generativelanguage.googleapis.com",
        url_variable="GOOGLE_GEMINI_BASE_URL",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        path=("/v1beta", "/v1"),
    ),
    "ollama": Provider(base_url="http://127.0.0.1:11434/v1", url_variable="OLLAMA_HOST"),
    "openrouter": Provider(base_url="https://openrouter.ai/api/v1", key_variables=("OPENROUTER_API_KEY",)),
    "mistral": Provider(base_url="https://api.mistral.ai/v1", key_variables=("MISTRAL_API_KEY",)),
    "groq": Provider(base_url="https://api.groq.com/openai/v1", key_variables=("GROQ_API_KEY",)),
    "deepseek": Provider(base_url="https://api.deepseek.com", key_variables=("DEEPSEEK_API_KEY",)),
    "together": Provider(base_url="https://api.together.ai/v1", key_variables=("TOGETHER_API_KEY",)),
    "xai": Provider(base_url="https://api.x.ai/v1", key_variables=("XAI_API_KEY",)),
}
COMPATIBLE = "openai_compatible"
PYDANTIC_AI = "pydantic-ai"
SERVICE = "http"
"""The provider of a service under test, which is not a model."""
_COMPATIBLE_KEY = "OPENAI_COMPATIBLE_API_KEY"
_ALIASES = {"google": "gemini"}
_KNOWN = (*PROVIDERS, COMPATIBLE, PYDANTIC_AI)


def find_endpoint(name: str, environ: Mapping[str, str], table: Mapping[str, Any]) -> Endpoint:
    """Return the endpoint of a name; no request is sent and no key is needed.

    A name is one of the table `[tool.evalmark.models]`, or `provider/model`, or `openai_compatible:` and the address
    of a server with the model at its end, or `pydantic-ai/` and what pydantic-ai calls the model.

    >>> find_endpoint("openai_compatible:http://127.0.0.1:8000/v1/some-model", {}, {}).identity
    'openai_compatible/some-model@http://127.0.0.1:8000/v1'

    Raises:
        ConfigError: The name is not that of a model, or the table or an address in a variable is invalid.
    """
    named = read_table(table, _KNOWN)
    if name in named:
        return _of_table(name, named[name], environ)
    if name.startswith(f"{COMPATIBLE}:"):
        base_url, model = split_model_url(name.removeprefix(f"{COMPATIBLE}:"), COMPATIBLE)
        key = _key(environ, _COMPATIBLE_KEY)
        return Endpoint(
            name=f"{COMPATIBLE}:{base_url}/{model}",
            provider=COMPATIBLE,
            model=model,
            base_url=base_url,
            key_variable=_COMPATIBLE_KEY,
            key=key,
        )
    provider, _, model = name.partition("/")
    provider = _ALIASES.get(provider, provider)
    if not model or (provider not in PROVIDERS and provider != PYDANTIC_AI):
        raise ConfigError(_unknown(name, named))
    if provider == PYDANTIC_AI:
        return Endpoint(name=name, provider=PYDANTIC_AI, model=model)
    return _of_provider(name, provider, model, environ)


def missing_key(endpoint: Endpoint) -> str | None:
    """Return the error message if the key is missing or invalid; otherwise None."""
    if endpoint.key and not (endpoint.key.isascii() and endpoint.key.isprintable() and " " not in endpoint.key):
        return f"{endpoint.name}: {endpoint.key_variable} contains a character that API keys do not have. Set it again."
    if endpoint.key or not endpoint.needs_key:
        return None
    is_openai = endpoint.base_url == PROVIDERS["openai"].base_url
    other = ", or OPENAI_BASE_URL to the address of a server of your own" if is_openai else ""
    return f"{endpoint.name}: {endpoint.key_variable} is not set. Set it to the key of {endpoint.host}{other}."


def _of_provider(name: str, provider: str, model: str, environ: Mapping[str, str]) -> Endpoint:
    known = PROVIDERS[provider]
    written = environ.get(known.url_variable, "").strip() if known.url_variable else ""
    if not (written or known.base_url):
        raise ConfigError(f"{name}: {known.url_variable} is not set. Set it to the address of your resource.")
    base_url = _base_url(provider, written, known.url_variable) if written else known.base_url
    variable = next((v for v in known.key_variables if _key(environ, v)), next(iter(known.key_variables), ""))
    return Endpoint(
        name=name,
        provider=provider,
        model=model,
        base_url=base_url,
        key_variable=variable,
        key=_key(environ, variable),
        # A server of the user in place of a provider often needs no key.
        needs_key=bool(variable) and (base_url == known.base_url or not known.base_url),
        api_version=_api_version(environ.get("OPENAI_API_VERSION", "")) if provider == "azure" else "",
    )


def _of_table(name: str, entry: ModelEntry, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint of a row; a key is sent to an address of the table only if the table names the key."""
    provider = _ALIASES.get(entry.provider, entry.provider)
    if entry.base_url:
        found = Endpoint(name=name, provider=provider, model=entry.model, base_url=entry.base_url)
        found = replace(found, base_url=_base_url(provider, entry.base_url, f"{entry.location}.base_url"))
        if provider == "azure":
            found = replace(found, api_version=_api_version(environ.get("OPENAI_API_VERSION", "")))
    elif provider == PYDANTIC_AI:
        found = Endpoint(name=name, provider=PYDANTIC_AI, model=entry.model)
    else:
        found = _of_provider(name, provider, entry.model, environ)
    if entry.api_version:
        found = replace(found, api_version=_api_version(entry.api_version))
    if entry.key:
        found = replace(found, key_variable=entry.key, key=_key(environ, entry.key), needs_key=True)
    return found


def _base_url(provider: str, written: str, location: str) -> str:
    if provider == "ollama":
        return ollama_address(written)
    path = PROVIDERS[provider].path if provider in PROVIDERS else ()
    return strip_suffix(validate_address(written, location), path)


def _key(environ: Mapping[str, str], variable: str) -> str:
    return environ.get(variable, "").strip() if variable else ""


def _api_version(text: str) -> str:
    """The version of Azure's dated API; empty for its v1 API."""
    return "" if text.strip() in ("", "v1", "preview", "latest") else text.strip()


def _unknown(name: str, named: Mapping[str, ModelEntry]) -> str:
    if set("@?#") & set(name) or len(name) > 200:
        return "The name of a model contains an invalid character or is too long. Write provider/model, such as openai/MODEL."
    provider, slash, _ = name.partition("/")
    near = difflib.get_close_matches(provider, [*_KNOWN, *_ALIASES, *named], n=1)
    hint = f" Did you mean {near[0]!r}?" if near and near[0] != provider else ""
    if not slash:
        listed = f"; [tool.evalmark.models] names {', '.join(named)}" if named else ""
        return f"{name!r} is not the name of a model{listed}.{hint} Write provider/model, such as openai/MODEL."
    if provider in _KNOWN:
        return f"{name!r} is not the name of a model of {provider}. Write {provider}/MODEL."
    if hint:
        return f"{name!r}: {provider!r} is not a provider.{hint}"
    known = ", ".join(PROVIDERS)
    return (
        f"{name!r}: {provider!r} is not a provider; known are {known}. For a server that is compatible with OpenAI, write "
        f"{COMPATIBLE}:http://HOST/v1/MODEL. For any other, write {PYDANTIC_AI}/PROVIDER:MODEL."
    )
