"""Convert model names between promptfoo, OpenAI, Azure, GitHub Models and evalmark."""

_PROMPTFOO = {
    "openai": ("openai:chat:", "openai:responses:", "openai:"),
    "azure": ("azure:chat:", "azureopenai:chat:", "azure:responses:", "azureopenai:", "azure:"),
    "anthropic": ("anthropic:messages:", "anthropic:"),
    "gemini": ("google:", "palm:"),
    "ollama": ("ollama:chat:", "ollama:completion:", "ollama:"),
    "openrouter": ("openrouter:",),
    "mistral": ("mistral:",),
    "groq": ("groq:",),
    "deepseek": ("deepseek:",),
    "together": ("togetherai:", "together:"),
    "xai": ("xai:",),
}
"""promptfoo's prefixes of each provider; exports use the first one."""
_WITH_TAGS = ("ollama:", "openrouter:")
"""Prefixes after which a model name may contain a colon."""
_SERVICES = ("embedding", "embeddings", "moderation", "image", "assistant", "completion")
CODE = ("file://", "python:", "exec:", "ruby:", "golang:", "package:", ".js", ".ts", ".mjs", ".cjs", ".py")
_OPENAI = ("openai", "azure")


def from_promptfoo(provider: str) -> str | None:
    """Convert a promptfoo provider to a model name; None if it is not a supported chat model.

    >>> from_promptfoo("openai:chat:some-model"), from_promptfoo("openai:embedding:some-model")
    ('openai/some-model', None)
    """
    for ours, prefixes in _PROMPTFOO.items():
        for prefix in prefixes:
            model = provider.removeprefix(prefix)
            if model and model != provider and not _is_no_chat(prefix, model):
                return f"{ours}/{model}"
    return None


def _is_no_chat(prefix: str, model: str) -> bool:
    """Tell whether the model begins with another kind of service, such as `embedding:` or `realtime:`."""
    kind, colon, _ = model.partition(":")
    is_name = prefix.count(":") > 1 or prefix in _WITH_TAGS or kind == "ft"
    return bool(colon) and (kind in _SERVICES or not is_name)


def to_promptfoo(model: str) -> str | None:
    """Convert a model name to a promptfoo provider; None if promptfoo does not have the provider.

    >>> to_promptfoo("anthropic/some-model"), to_promptfoo("my_app:answer")
    ('anthropic:messages:some-model', None)
    """
    provider, _, name = model.partition("/")
    prefixes = _PROMPTFOO.get(provider, ())
    return f"{prefixes[0]}{name}" if prefixes and name else None


def openai_model_name(model: str) -> str:
    """Convert a model name to the service's own: without the provider if that is OpenAI or Azure.

    >>> openai_model_name("openai/some-model"), openai_model_name("some-lab/some-model")
    ('some-model', 'some-lab/some-model')
    """
    provider, _, name = model.partition("/")
    return name if provider in _OPENAI and name else model


def is_model(name: str) -> bool:
    """Tell whether the name of a target is that of a model: `provider/model`, in one word."""
    return "/" in name.strip("/") and ":" not in name.partition("/")[0] and not set(name) & set(" \t\n")
