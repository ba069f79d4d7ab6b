"""What models are called: in promptfoo, at OpenAI and Azure, in GitHub Models, and here."""

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
"""Ways in which promptfoo writes a provider; the first is the one that we write."""
_WITH_TAGS = ("ollama:", "openrouter:")
"""Prefixes behind which a name may hold a colon."""
_SERVICES = ("embedding", "embeddings", "moderation", "image", "assistant", "completion")
CODE = ("file://", "python:", "exec:", "ruby:", "golang:", "package:", ".js", ".ts", ".mjs", ".cjs", ".py")
_OPENAI = ("openai", "azure")


def from_promptfoo(provider: str) -> str | None:
    """A model's name here, out of what promptfoo calls it; None for what is no chat model that is asked here.

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
    """Whether what stands behind the prefix begins with another kind of service, such as `embedding:` or `realtime:`."""
    kind, colon, _ = model.partition(":")
    is_name = prefix.count(":") > 1 or prefix in _WITH_TAGS or kind == "ft"
    return bool(colon) and (kind in _SERVICES or not is_name)


def to_promptfoo(model: str) -> str | None:
    """What promptfoo calls a model of ours; None where it knows no such provider.

    >>> to_promptfoo("anthropic/some-model"), to_promptfoo("my_app:answer")
    ('anthropic:messages:some-model', None)
    """
    provider, _, name = model.partition("/")
    prefixes = _PROMPTFOO.get(provider, ())
    return f"{prefixes[0]}{name}" if prefixes and name else None


def openai_model_name(model: str) -> str:
    """What the service itself calls a model of ours: without the provider where that is OpenAI or Azure.

    >>> openai_model_name("openai/some-model"), openai_model_name("some-lab/some-model")
    ('some-model', 'some-lab/some-model')
    """
    provider, _, name = model.partition("/")
    return name if provider in _OPENAI and name else model


def is_model(name: str) -> bool:
    """Whether a target goes by the name of a model: `provider/model`, in one word."""
    return "/" in name.strip("/") and ":" not in name.partition("/")[0] and not set(name) & set(" \t\n")
