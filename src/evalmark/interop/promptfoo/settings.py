"""The providers of a promptfoo config, and the settings of their models with the defaults that promptfoo sends."""

import re
from dataclasses import dataclass
from typing import Any

from evalmark.core.errors import DataError
from evalmark.inputs.documents.document import Document, load_document
from evalmark.inputs.documents.files import allowed_path
from evalmark.interop.shared.import_builder import ImportBuilder
from evalmark.interop.shared.items import dict_or_empty
from evalmark.interop.shared.model_names import from_promptfoo, is_callable_model

from .templates import is_template

Data = dict[str, Any]
_NAMES = {
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "maxOutputTokens": "max_tokens",
    "maxTokens": "max_tokens",
    "num_predict": "max_tokens",
    "topP": "top_p",
    "stop_sequences": "stop",
    "stopSequences": "stop",
}
"""What promptfoo's providers call the settings with a name of their own here."""
_SAME = (
    *("temperature", "max_tokens", "top_p", "seed", "stop"),
    *("frequency_penalty", "presence_penalty", "response_format", "tools", "tool_choice", "reasoning_effort"),
    *("verbosity", "service_tier", "parallel_tool_calls", "logit_bias", "top_k", "topK", "thinking", "safetySettings"),
)
"""Settings that are sent unchanged."""
_PORTABLE = ("temperature", "max_tokens", "top_p", "seed", "stop")
"""Settings that mean the same for every model."""
_READ = ("omitDefaults",)
_NESTED = ("passthrough", "extra_body", "generationConfig", "options")
"""Mappings whose items are sent as if they stood beside them."""
IDLE = (
    *("label", "delay", "apiKey", "apiKeyEnvar", "apiKeyRequired", "maxRetries", "organization", "project", "cost"),
    *("inputCost", "outputCost", "usage_tier", "stream", "timeout", "showThinking", "region", "projectId"),
    *("maxConcurrency", "apiVersion", "modelName", "model", "id", "inferenceModelType"),
)
"""Keys that change no request, or only where and with which key it is sent, which the environment says here."""
_IDLE_REASON = "it changes no request, or the environment says it here"
ADDRESSES = ("apiBaseUrl", "apiHost", "baseUrl", "baseURL")
_OWN_API = {"anthropic": "ANTHROPIC_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}
"""Providers whose API is not OpenAI's, and the variable with the address of their server."""
_REASONING = re.compile(r"(^|[/:.])(o[134](-|$)|gpt-5)")
"""Models to which promptfoo sends neither a temperature nor a limit by itself."""
_FIXED_SAMPLING = re.compile(r"opus-4-[7-9]|(opus|sonnet|haiku)-[5-9]|fable|mythos")
_OF_OPENAI = (
    *("openai:", "azure:", "azureopenai:", "openrouter:", "groq:", "deepseek:", "togetherai:", "xai:", "cerebras:"),
    *("perplexity:", "nscale:", "fireworks:", "github:", "docker:"),
)
"""Providers to which promptfoo sends its defaults for OpenAI."""
MOST_TOKENS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRow:
    """One provider of a config."""

    name: str
    label: str
    config: Data
    row: Data
    """All keys of the provider."""
    where: str
    """Its location in the file."""


class UnsupportedProviderError(Exception):
    """A provider that has no equivalent; the text is the reason."""


def model_settings(
    provider: ProviderRow, document: Document, builder: ImportBuilder, *, is_replaced: bool = False
) -> Data:
    """Return the settings of a model as promptfoo sends them, and record what cannot be sent.

    Args:
        provider: the provider with its options.
        document: the config, whose folder has the files that options name.
        builder: the import.
        is_replaced: whether another model takes its place; then only settings that mean the same for every model are
            returned.
    """
    settings: Data = {}
    config = provider.config
    flat = {**config, **{key: value for nested in _NESTED for key, value in dict_or_empty(config.get(nested)).items()}}
    effort = dict_or_empty(config.get("reasoning")).get("effort")
    if effort:
        flat["reasoning_effort"] = effort
    for key, value in flat.items():
        part = f"{provider.where} {key}"
        ours = _NAMES.get(key, key)
        if ours in (_PORTABLE if is_replaced else _SAME) and value is not None:
            _set(settings, ours, value, document, part, builder)
        elif key in (*IDLE, *ADDRESSES) or is_replaced:
            builder.part(part, "no effect", _IDLE_REASON)
        elif value is not None and key not in (*_NESTED, *_READ) and not (key == "reasoning" and effort):
            builder.part(part, "left out", "evalmark does not know this option of the model")
    return settings if is_replaced else {**_defaults(provider.name, config), **settings}


def _set(settings: Data, key: str, value: Any, document: Document, part: str, builder: ImportBuilder) -> None:
    """Set a setting, which may be the name of a file with its value."""
    if isinstance(value, str) and value.startswith("file://"):
        try:
            value = load_document(allowed_path(value.removeprefix("file://"), *(document.path.parent,) * 2)).data
        except DataError as error:
            builder.part(part, "left out", f"its file cannot be read: {error}")
            return
    if _has_template(value):
        builder.part(part, "left out", "it is a template, and settings are the same for all cases")
    elif key == "tools" and not _are_functions(value):
        builder.part(part, "left out", "the provider runs these tools itself, and evalmark does not ask for them")
    else:
        settings[key] = value


def _are_functions(tools: Any) -> bool:
    """Whether tools are in the form of chat completions, or of Anthropic."""
    return isinstance(tools, list) and all(
        isinstance(tool, dict) and ("function" in tool or ("input_schema" in tool and "type" not in tool))
        for tool in tools
    )


def _has_template(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_template, value.values()))
    return any(map(_has_template, value)) if isinstance(value, list) else is_template(value)


def _defaults(name: str, config: Data) -> Data:
    """Return what promptfoo sends where a config says nothing: for OpenAI's API and Anthropic's, a temperature and a limit.

    >>> _defaults("openai:gpt-4o", {}), _defaults("openai:o3-mini", {}), _defaults("google:gemini-2.5-flash", {})
    ({'temperature': 0, 'max_tokens': 1024}, {}, {})
    """
    if name.startswith("anthropic:"):
        is_free = "top_p" in config or "thinking" in config or bool(_FIXED_SAMPLING.search(name))
        return {"max_tokens": 2048 if "thinking" in config else MOST_TOKENS} | ({} if is_free else {"temperature": 0})
    if not name.startswith(_OF_OPENAI) or _REASONING.search(name) or config.get("omitDefaults"):
        return {}
    return {"temperature": 0, "max_tokens": MOST_TOKENS}


def model_of(name: str, config: Data) -> str | None:
    """Return the model of a provider or grader; None if it is a service or a script.

    Raises:
        UnsupportedProviderError: evalmark cannot call the model, or not at its address.
    """
    if is_template(name):
        raise UnsupportedProviderError("it is read from an environment variable; name the model with --map-provider")
    address = next((str(config[key]) for key in ADDRESSES if config.get(key)), "")
    model = from_promptfoo(name)
    if model is None and name == "openai" and config.get("model"):
        model = f"openai/{config['model']}"
    if model is None:
        return None
    if not is_callable_model(model):
        raise UnsupportedProviderError(
            "it is called by way of pydantic-ai, which is not installed: pip install 'evalmark[pydantic-ai]', or name "
            "another model with --map-provider"
        )
    if not address or model.startswith(("azure/", "ollama/")):  # promptfoo takes Ollama's address from the environment
        return model
    return _at_address(model, _with_scheme(address), name)


def _at_address(model: str, address: str, name: str) -> str:
    """Return the model of the provider `name` at another address with OpenAI's API."""
    if is_template(address):
        raise UnsupportedProviderError("its address is read from an environment variable; use --map-provider")
    if "@" in address or "?" in address:
        raise UnsupportedProviderError("its address contains credentials or a query; use --map-provider")
    service, _, rest = model.partition("/")
    if variable := _OWN_API.get(service):
        raise UnsupportedProviderError(
            f"the server at its address has the API of {service}: set {variable} to the address for each run, and "
            f"import it with --map-provider '{name}={model}'"
        )
    if service == "pydantic-ai":
        raise UnsupportedProviderError("evalmark cannot call it at another address; use --map-provider")
    if service.startswith("openai_compatible:"):
        rest = name.partition(":")[2].removeprefix("chat:")
    return f"openai_compatible:{address}/{rest}"


def _with_scheme(address: str) -> str:
    address = address if re.match(r"https?://", address) else f"https://{address}/v1"
    return address.rstrip("/")
