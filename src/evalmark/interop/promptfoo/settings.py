"""The providers of a promptfoo config, and the settings of their models with the defaults that promptfoo sends."""

import re
from dataclasses import dataclass
from typing import Any

from evalmark.core.errors import DataError
from evalmark.inputs.documents.document import Document, load_document
from evalmark.inputs.documents.files import allowed_path
from evalmark.interop.shared.import_builder import ImportBuilder
from evalmark.interop.shared.items import dict_or_empty

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
    *("maxConcurrency", "modelName", "model", "id", "inferenceModelType"),
)
"""Keys that change no request, or only where and with which key it is sent, which the environment says here."""
_IDLE_REASON = "it changes no request, or the environment says it here"
_ADDRESSES = ("apiBaseUrl", "apiHost", "baseUrl", "baseURL", "apiVersion")
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
        elif key in (*IDLE, *_ADDRESSES) or is_replaced:
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
