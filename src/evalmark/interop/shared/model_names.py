"""Convert model names between promptfoo, OpenAI, Azure, GitHub Models and evalmark."""

import importlib.util

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
_COMPATIBLE = {
    "cerebras:": "https://api.cerebras.ai/v1",
    "perplexity:": "https://api.perplexity.ai",
    "nscale:": "https://inference.api.nscale.com/v1",
    "fireworks:": "https://api.fireworks.ai/inference/v1",
    "hyperbolic:": "https://api.hyperbolic.xyz/v1",
    "cometapi:chat:": "https://api.cometapi.com/v1",
    "aimlapi:chat:": "https://api.aimlapi.com/v1",
    "nvidia:chat:": "https://integrate.api.nvidia.com/v1",
    "moonshot:": "https://api.moonshot.ai/v1",
    "alibaba:": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "dashscope:": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "huggingface:chat:": "https://router.huggingface.co/v1",
    "docker:": "http://127.0.0.1:12434/engines/v1",
    "localai:chat:": "http://127.0.0.1:8080/v1",
    "localai:": "http://127.0.0.1:8080/v1",
}
"""promptfoo's prefixes of services with OpenAI's API that have no name here, and their addresses."""
_BRIDGED = {
    "bedrock:": "bedrock",
    "vertex:": "google-vertex",
    "cohere:": "cohere",
    "github:": "github",
}
"""promptfoo's prefixes of providers that pydantic-ai knows, and its names for them."""
_WITH_TAGS = ("ollama:", "openrouter:")
"""Prefixes after which a model name may contain a colon."""
_SERVICES = ("embedding", "embeddings", "moderation", "image", "assistant", "completion", "audio", "video", "speech")
CODE = ("file://", "python:", "exec:", "ruby:", "golang:", "package:", ".js", ".ts", ".mjs", ".cjs", ".py")
_AGENTS = ("claude-agent-sdk", "claude-code", "codex-sdk", "codex-app-server")
"""Programs that promptfoo names like models."""
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
    return _bridged(provider) or _compatible(provider)


def is_callable_model(model: str) -> bool:
    """Whether the package that calls a model is installed: pydantic-ai for names that begin with it."""
    return not model.startswith("pydantic-ai/") or importlib.util.find_spec("pydantic_ai") is not None


def _bridged(provider: str) -> str | None:
    service, _, model = provider.partition(":")
    name = _BRIDGED.get(f"{service}:")
    model = model.removeprefix("converse:").removeprefix("chat:")
    is_chat = {"bedrock": "." in model.partition(":")[0], "google-vertex": model.startswith("gemini")}
    return f"pydantic-ai/{name}:{model}" if name and model and is_chat.get(name, True) else None


def _compatible(provider: str) -> str | None:
    for prefix, address in _COMPATIBLE.items():
        model = provider.removeprefix(prefix).removeprefix("chat:")
        if provider.startswith(prefix) and model and model.partition(":")[0] not in _SERVICES:
            return f"openai_compatible:{address}/{model}"
    return None


def _is_no_chat(prefix: str, model: str) -> bool:
    """Tell whether the model begins with another kind of service, such as `embedding:` or `realtime:`."""
    kind, colon, _ = model.partition(":")
    is_name = prefix.count(":") > 1 or prefix in _WITH_TAGS or kind == "ft"
    return model in _AGENTS or (bool(colon) and (kind in _SERVICES or not is_name))


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
